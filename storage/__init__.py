"""Everything that is kept: one SQLite database is the truth, originals lie beside it, the rest can be rebuilt.

    with Database(Path("data")) as database:
        documents = SqliteDocumentStore(database, LocalFileStore(database.data_dir))
        store = FaissEmbeddingStore(database, model_id=model.model_id, dimension=model.dimension)

Storage imports core, never the other way; importing a module here opens nothing.
"""
