"""The shell: asyncio lives here. It carries events in and effects out, and decides nothing."""
