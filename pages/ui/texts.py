"""Every sentence on the screen, by key. `t("sources.many", count=4)` gives "4 sources".

Another language is another table with the same keys; `t` is the only place that chooses.
"""

from __future__ import annotations

ENGLISH = {
    "app.name": "Footnote",
    "nav.chat": "Chat",
    "nav.library": "Library",
    "nav.library_running": "Library · {count} running",
    "nav.settings": "Settings",
    # errors
    "error.unexpected": "Something went wrong. The log tells more under {id}.",
    "error.too_large": "“{name}” is larger than {limit} MB; raise “Largest file (MB)” in the settings, or split it.",
    "error.disk_full": "The disk of the data folder is full; free some space and add the file again.",
    "warning.opened": "Footnote is open to your network: there is no log-in, so whoever reaches this address can read "
    "your documents. Without --server.address it listens to this computer only.",
    "error.foreign_request": "This request doesn't come from Footnote's own pages.",
    "error.no_document": "There is no such document any more.",
    "error.no_chat": "There is no such chat any more; this is a new one.",
    # chats in the sidebar
    "chats.new": "New chat",
    "chats.search": "Search chats",
    "chats.today": "Today",
    "chats.yesterday": "Yesterday",
    "chats.none": "No chats yet.",
    "chats.none_found": "No chat holds these words.",
    "chats.untitled": "Untitled chat",
    # choices above the chat
    "scope.all": "All documents",
    "scope.collection": "One collection",
    "scope.chosen": "Chosen documents",
    "scope.ask": "Answer from",
    "scope.which_collection": "Collection",
    "scope.which_documents": "Documents",
    "memory.label": "Memory",
    "memory.ask": "What memory keeps of earlier questions",
    "memory.original": "Keep my question",
    "memory.augmented": "Keep my question with the passages",
    "memory.cost": (
        "{now} tokens now, about {later} after ten turns; at most {most} tokens and {messages} messages are sent again"
    ),
    "memory.note": "The screen always shows what you typed. This question is always sent with its passages.",
    "menu.label": "More",
    "menu.rename": "Name of this chat",
    "menu.export": "Export as Markdown",
    "menu.delete": "Delete chat",
    "menu.delete_ask": "Delete “{title}” with all {count} of its messages? This can't be undone.",
    "menu.delete_yes": "Delete it",
    "menu.delete_no": "Keep it",
    # asking and answers
    "ask.placeholder": "Ask your documents …",
    "ask.busy": "Answering …",
    "ask.stop": "Stop",
    "phase.waiting": "Waiting for its turn",
    "phase.waiting_files.one": "Waiting for 1 file that was just added",
    "phase.waiting_files.many": "Waiting for {count} files that were just added",
    "phase.reading_left": "Reading {tokens} tokens, about {left} s left",
    "phase.reading_over": "Reading {tokens} tokens, longer than expected",
    "phase.searching": "Searching your documents",
    "phase.reading": "Reading the passages",
    "phase.writing": "",
    "state.stopped": "Stopped.",
    "state.cut": "The answer was cut: it reached the longest length.",
    "state.failed": "No answer.",
    "state.interrupted": "Interrupted: Footnote was closed while it was writing.",
    "state.empty": "No answer was produced.",
    "state.retry": "Try again",
    "state.continue": "Continue",
    "answer.copy": "copy",
    "answer.copied": "copied",
    "answer.again": "again",
    "answer.marker": "Source",
    "sources.one": "1 source",
    "sources.many": "{count} sources",
    "sources.closest": "Closest passages",
    "source.untitled": "Untitled",
    "source.open": "Show the passage",
    "source.gone": "deleted since",
    "source.download": "original file",
    "place.page": "p. {page}",
    "place.pages": "pp. {first}–{last}",
    "place.slide": "slide {slide}",
    "place.row": "row {rows}",
    "place.rows": "rows {rows}",
    "score.cosine": "meaning",
    "score.bm25": "words",
    "score.fused": "together",
    "score.rrf": "together",
    "support.weak": "A passage supports this only in part.",
    "support.none": "No passage supports this sentence.",
    "footer.support": "{supported} of {checked} sentences supported",
    "footer.speed": "{speed} tokens/s",
    # first steps
    "empty.title": "Ask your own documents.",
    "empty.text": "Every sentence of an answer shows the passage it rests on. Nothing leaves this computer.",
    "empty.add": "Drop your first documents here, then ask.",
    "upload.ask": "Drop documents here, or choose them",
    "upload.formats": "PDF, Word, Excel, CSV, HTML, Markdown, text · up to {limit} MB each",
    "upload.sending": "Sending {name}, {share} %",
    "upload.more": "{count} more to send",
    "upload.lost": "“{name}” didn't arrive: the connection was lost. Add it again.",
    "empty.ready": "Ready to be asked: {documents}.",
    "hint.no_documents": "There are no documents yet: add some, or the answer can only be “not in your documents”.",
    "hint.many": "{count} files are still being indexed; ask already, what is ready is searched.",
    "hint.one": "1 file is still being indexed; ask already, what is ready is searched.",
    # models
    "model.chat_missing": "Answers need a chat model. {message} Adding and searching documents works without.",
    "model.embedding_missing": "Adding and searching documents needs an embedding model. {message}",
    "model.loading": "The chat model is being loaded; the first answer waits for it.",
    # library
    "library.title": "Library",
    "library.collection": "Collection",
    "library.conflict": "If a file of that name is already there",
    "library.keep_both": "keep both",
    "library.replace": "replace",
    "library.new_collection": "New collection",
    "library.add_collection": "Add",
    "library.search": "Search documents",
    "library.all_collections": "All collections",
    "library.none": "No documents yet.",
    "library.none_found": "No document fits.",
    "documents.many": "{count} documents",
    "documents.one": "1 document",
    "column.name": "Name",
    "column.collection": "Collection",
    "column.type": "Type",
    "column.pages": "Pages",
    "column.segments": "Segments",
    "column.state": "State",
    "column.added": "Added",
    "state.indexed": "searchable",
    # jobs
    "jobs.title": "Being added",
    "jobs.stop": "Stop",
    "jobs.retry": "Try again",
    "jobs.password": "Password",
    "jobs.unlock": "Unlock",
    "jobs.clear": "Clear finished",
    "jobs.clear_failed": "Clear failed",
    "jobs.dismiss": "Dismiss",
    "failed_files.one": "1 file couldn't be added",
    "failed_files.many": "{count} files couldn't be added",
    "jobs.waiting": "waiting",
    "jobs.stopped": "Stopped.",
    "jobs.failed": "Failed.",
    "jobs.more": "and {count} more waiting",
    "result.indexed": "Searchable: {segments}.",
    "result.unchanged": "Already indexed, nothing to do.",
    "result.duplicate": "Same content as {name}; both names are listed, stored once.",
    "result.duplicate_unknown": "Same content as another document; both names are listed, stored once.",
    "result.updated": "Updated: {segments}.",
    # one document
    "document.back": "All documents",
    "document.facts": "{collection} · {type} · {size} · {characters} characters · added {added}",
    "pages.one": "1 page",
    "pages.many": "{count} pages",
    "segments.one": "1 segment",
    "segments.many": "{count} segments",
    "document.warnings": "Worth knowing",
    "document.shared": "Same content as {names}.",
    "document.download": "Download original",
    "document.reindex": "Index again",
    "document.reindexing": "“{name}” is being indexed again.",
    "document.delete": "Delete",
    "document.delete_ask": "Delete “{name}” with its {segments}? This can't be undone.",
    "document.delete_yes": "Delete it",
    "document.delete_no": "Keep it",
    "document.deleted": "“{name}” is deleted.",
    "document.text": "Segments",
    "document.segment": "Segment {index}",
    # settings
    "settings.title": "Settings",
    "settings.search": "Search settings",
    "settings.none": "No setting fits.",
    "settings.default": "Default: {default}",
    "settings.range": "{low} to {high}",
    "settings.at_least": "at least {low}",
    "settings.environment": "Set by {name} in the environment.",
    "settings.restart": "From the next start of Footnote.",
    "settings.reset": "Reset",
    "pending.many": "{count} changes take effect at the next start of Footnote.",
    "pending.one": "1 change takes effect at the next start of Footnote.",
    "settings.empty": "empty",
    "settings.on": "on",
    "settings.off": "off",
    "about.title": "About",
    "about.version": "Versions",
    "about.data": "Data folder",
    "about.models": "Models folder",
    "about.chat_model": "Chat model",
    "about.embedding_model": "Embedding model",
    "about.licences": "Licences",
    "about.local": "Footnote listens on this computer only and sends nothing anywhere.",
    "about.agpl": (
        "PyMuPDF, which reads PDF files, is under the AGPL-3.0: "
        "it binds you when you pass Footnote on, not when you use it."
    ),
    "model.ready": "ready",
    "model.idle": "ready, loaded at the first question",
    "model.state_loading": "being loaded",
    "model.missing": "missing",
    "model.failed": "failed",
}


# By the setting's name; one that isn't here is called by its name.
SETTING_LABELS = {
    "context_tokens": "Context size (tokens)",
    "max_answer_tokens": "Longest answer (tokens)",
    "threads": "Processor threads",
    "gpu_layers": "GPU layers",
    "embedding_precision": "Number format of the embedding model",
    "embedding_store": "Vector search",
    "retriever": "How passages are found",
    "max_results": "Most passages in a prompt",
    "candidates": "Passages looked at before ranking",
    "min_score": "Lowest score of a hit",
    "min_share": "Lowest share of the best score",
    "source_tokens": "Room for passages (tokens)",
    "query_transformer": "What happens to follow-up questions",
    "refusal": "Say when it isn't in the documents",
    "memory_messages": "Messages that are sent again",
    "memory_tokens": "Room for earlier messages (tokens)",
    "store_retrieved_content": "Keep questions with their passages",
    "max_segment_tokens": "Longest segment (tokens)",
    "overlap_tokens": "Overlap of segments (tokens)",
    "max_file_mb": "Largest file (MB)",
    "parse_timeout_s": "Reading time limit (s)",
    "parse_memory_mb": "Reading memory limit (MB)",
    "allowed_hosts": "Allowed private servers",
}


def setting_label(name: str) -> str:
    """ "GPU layers" for gpu_layers, "Chat model" for one without a label of its own"""
    return SETTING_LABELS.get(name) or name.replace("_", " ").capitalize()


def t(key: str, **values: object) -> str:
    return ENGLISH[key].format(**values)


def counted(what: str, count: int) -> str:
    """counted("segments", 1) gives "1 segment", with 2300 "2,300 segments"."""
    return t(f"{what}.one") if count == 1 else t(f"{what}.many", count=f"{count:,}")


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st"""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
