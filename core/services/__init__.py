"""What pages and the command line call: one service per thing a person does. No widget, no SQL."""
