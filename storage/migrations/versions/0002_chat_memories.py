"""Chat memories of the library's Assistant, by their id."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("CREATE TABLE chat_memories (id TEXT PRIMARY KEY NOT NULL, messages JSON NOT NULL)")
