"""What can be wrong in a data folder: a file for each kind of thing, with how it's found and how it's mended.

Finding changes nothing. Mending never throws away what can't be made again: it rebuilds, brings back, moves aside, or
writes on the document what it has lost. `storage.maintenance` runs them in their order.
"""
