"""The engine: documents in, grounded answers out. No Streamlit, no SQL, no FAISS. `core/README.md` draws the map."""
