"""A rig that starts a fake server in the folder given, says so, and waits to be killed."""

import asyncio
import sys
from pathlib import Path

from tests.pipeline import fake


async def main(folder: Path) -> None:
    pipeline = fake.pipeline(folder, fake.fake_config(folder))
    await pipeline.start()
    await pipeline.wait_ready()
    print(pipeline.server.pid, flush=True)
    await pipeline.gone.wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
