"""The folder in which a lifetime is kept, block by block, and gone on with: looked through before anything changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.agents.protocol import Agent, plain_state
from pushlab.ground._old_files import clear_unfinished
from pushlab.ground._old_kept import checksum
from pushlab.ground._old_reading import read_bytes
from pushlab.ground.arguments import demand
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_text
from pushlab.lifetimes.rules import TRAIN
from pushlab.lifetimes.syllabi import Syllabus
from pushlab.logs.folders import STEPS, read_log, write_log
from pushlab.logs.places import BLOCK
from pushlab.logs.tables import COLUMNS, TABLE

STATE_FILE = "agent.json"
LARGEST_STATE = LARGEST_BLOCK = 2**30  # bytes, of a file
BLOCK_FILES = TABLE, COLUMNS, STEPS


class Book:
    """The folder of a lifetime: finished blocks as a log, and beside it how many there are and what was learned."""

    def __init__(
        self,
        folder: Path | str,
        syllabus: Syllabus,
        agent: Agent,
        seed: int,
        labels: dict[str, Any],
    ) -> None:
        self.folder, self.syllabus, self.phases = (
            Path(folder),
            syllabus,
            syllabus.phases,
        )
        # The last word: lifetimes begun before 0.2 met other episodes, and cannot be gone on with.
        told = json.dumps(
            [syllabus.to_dict(), agent.name, seed, labels, "independent seeds"],
            sort_keys=True,
        )
        self.mark = hashlib.sha256(told.encode()).hexdigest()[:16]
        self.sums: list[str] = []  # a checksum of each finished block's files
        self.whose = {
            "syllabus": syllabus.name,
            "agent": agent.name,
            "seed": seed,
            "mark": self.mark,
        }
        if not tells_its_state(agent):
            raise ValueError(
                f"{type(agent).__name__} learns and does not say what, so that it could not go on after "
                "an interruption: write state() and load(), or run it without a folder"
            )
        if not os.path.lexists(self.folder / STATE_FILE) and any(
            self.folder.glob(f"*/*/{TABLE}")
        ):
            raise FileExistsError(
                f"{self.folder} holds a log already that is not of this lifetime; give another "
                "folder"
            )  # its blocks would be replaced by ours

    def open(self, agent: Agent, resume: bool) -> list[pd.DataFrame]:
        """The finished blocks, having loaded what the agent had learned by then.

        Everything is looked through first; then what an interruption left of a block goes, and nothing else.
        """
        path = self.folder / STATE_FILE
        if not os.path.lexists(path):
            self._tell(0, None)
            return []
        if not resume:
            raise FileExistsError(
                f"{self.folder} holds a lifetime already; give another folder, or resume=True"
            )
        kept = self._read(path, agent)
        if kept["mark"] != self.mark:
            raise ValueError(
                f"{self.folder} holds the lifetime of {kept['agent']!r} in {kept['syllabus']!r}, "
                f"seed {kept['seed']}, and not this one; give another folder"
            )
        left, blocks = self._left_of(kept["finished"]), self._finished(kept["finished"])
        self.sums = [self._sum_of(number) for number in range(len(blocks))]
        for number, (now, then) in enumerate(zip(self.sums, kept["blocks"] or ())):
            demand(
                now == then,
                f"block {number} in {self.folder} was changed after it was written; give another "
                "folder, to live from the beginning",
            )
        if blocks:
            try:
                agent.load(kept["state"])
            except Exception as error:
                right = f"a state that {agent.name!r} can go on from ({type(error).__name__}: {error})"
                raise BadData(
                    [Fault(path.name, None, "state", None, right, "item")]
                ) from error
        for place in left:
            shutil.rmtree(place)
        clear_unfinished(self.folder, [STATE_FILE])
        return blocks

    def _read(self, path, agent):
        """What `_tell` wrote; BadData for a file that it did not write, or that was changed since."""
        try:
            kept = json.loads(read_bytes(path, LARGEST_STATE))
            kept = {key: kept[key] for key in (*self.whose, "finished", "state")} | {
                "check": kept.get("check"),
                "blocks": kept.get("blocks"),
            }
            finished, last = kept["finished"], len(self.phases)
            if kept["mark"] == self.mark:
                demand(
                    type(finished) is int and 0 <= finished <= last,
                    f"{finished!r:.40} of {last} blocks finished",
                )
                if kept["check"] is None:  # written before there were any
                    demand(kept["blocks"] is None, "its checksum is missing")
                    trained = any(
                        phase.kind == TRAIN for phase in self.phases[:finished]
                    )
                    empty = (
                        trained
                        and not kept["state"]
                        and getattr(type(agent), "state", None) is not Agent.state
                    )
                    demand(not empty, "the state is empty")
                else:
                    demand(
                        kept["check"] == _check(kept),
                        "the file was changed after it was written",
                    )
            return kept
        except BadData:
            raise
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            right = f"what a lifetime keeps of itself ({type(error).__name__}: {error})"
            raise BadData([Fault(path.name, None, None, None, right)]) from error

    def _finished(self, finished):
        """The finished blocks; BadData or ValueError if they are not those that were lived."""
        if not finished:
            return []
        log = read_log(self.folder, blocks=finished)
        blocks = [block.reset_index(drop=True) for _, block in log.groupby("block")]
        elsewhere = "give another folder, to live from the beginning"
        if len(blocks) != finished:
            raise ValueError(
                f"{self.folder} has lost blocks: {finished} were finished, and {len(blocks)} are there; "
                + elsewhere
            )
        for number, (block, phase) in enumerate(zip(blocks, self.phases)):
            wanted = [one.task for one in phase.experiences for _ in range(one.count)]
            if block["task"].tolist() != wanted or set(block["block_type"]) != {
                phase.kind
            }:
                raise ValueError(
                    f"{self.folder} has lost some of block {number}: {len(wanted)} episodes of "
                    f"{phase.name} were lived, and {len(block)} are there, or others; {elsewhere}"
                )
        if log["episode"].tolist() != list(range(len(log))):
            raise ValueError(
                f"episodes in {self.folder} are not numbered as they were lived; {elsewhere}"
            )
        return blocks

    def _left_of(self, finished):
        """Folders of the one block that may have been begun; FileExistsError for what no interruption leaves."""
        begun = [
            f"{finished}-{phase.kind}" for phase in self.phases[finished : finished + 1]
        ]
        left = [
            path
            for path in self.folder.glob("[!.]*/[!.]*")
            if (block := BLOCK.fullmatch(path.name)) and int(block[1]) >= finished
        ]
        for path in left:
            others = {name for name in os.listdir(path) if name[0] != "."} - {
                *BLOCK_FILES
            }
            if path.name not in begun or path.is_symlink() or others:
                raise FileExistsError(
                    f"{path} is not of this lifetime, in which {finished} blocks are finished; move "
                    "it away, or give another folder"
                )
        return left

    def keep(self, block: pd.DataFrame, number: int, agent: Agent) -> None:
        """Writes a finished block, then that it is finished; between the two an interruption costs this one block."""
        write_log(
            block,
            self.folder,
            scenario={
                "syllabus_type": self.syllabus.kind,
                "syllabus": self.syllabus.to_dict(),
            },
        )
        self.sums.append(self._sum_of(number))
        self._tell(number + 1, plain_state(agent.state()))

    def _sum_of(self, number):
        """A checksum of the files of a block."""
        files = [
            place / name
            for place in sorted(self.folder.glob(f"[!.]*/{number}-*"))
            for name in BLOCK_FILES
        ]
        return checksum(
            *(
                part
                for path in files
                if os.path.lexists(path)
                for part in (path.name, read_bytes(path, LARGEST_BLOCK))
            )
        )

    def _tell(self, finished, state):
        """Writes whose lifetime this is, how many blocks are finished, and what the agent has learned in them."""
        told = {**self.whose, "finished": finished, "blocks": self.sums, "state": state}
        write_text(
            self.folder / STATE_FILE, json.dumps({**told, "check": _check(told)})
        )


def _check(told):
    """A checksum of what a lifetime keeps of itself."""
    blocks = (
        [] if told["blocks"] is None else [told["blocks"]]
    )  # None: written by 0.7 or before
    return hashlib.sha256(
        json.dumps([told["mark"], told["finished"], told["state"], *blocks]).encode()
    ).hexdigest()


def tells_its_state(agent: Agent) -> bool:
    """Whether an agent either learns nothing or has a state() of its own."""
    learns = getattr(type(agent), "learn", Agent.learn) is not Agent.learn
    return not learns or getattr(type(agent), "state", Agent.state) is not Agent.state
