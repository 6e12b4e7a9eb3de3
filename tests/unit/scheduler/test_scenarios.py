"""What the scheduler does, in plain words: the situation, the workers, what is asked, what is wished, the answer.

How the lines are read is told in plain.py; "no: CODE" is a refusal by the code of its sentence.
"""

import pytest

from tests.unit.scheduler.plain import answer

BOX = "w1 8x910B3-64G"
"""An eight-card 910B host: HCCS joins the cards 0 to 3, and 4 to 7."""

SCENARIOS: list[tuple[str, list[str], str, str, str]] = [
    # one device
    ("A 7B model on an empty box takes the first card.", [BOX], "1 x 20", "", "w1:0"),
    ("A 14B model in bf16 takes one 64 GiB card.", [BOX], "1 x 58 or 2 x 30", "", "w1:0"),
    ("A 32B model in bf16 is too big for one card and takes two.", [BOX], "1 x 70 or 2 x 38", "", "w1:0 w1:1"),
    (
        "Two cards picked by hand give two, though one would do.",
        [BOX],
        "1 x 58 or 2 x 30",
        "device w1:2 device w1:3",
        "w1:2 w1:3",
    ),
    (
        "Three cards picked by hand are refused: 64 heads do not divide by three.",
        [BOX],
        "1 x 58 or 2 x 30",
        "device w1:0 device w1:1 device w1:2",
        "no: heads_do_not_divide",
    ),
    ("Tensor parallel size 2 leaves only the claim on two cards.", [BOX], "2 x 30", "", "w1:0 w1:1"),
    (
        "64 heads and bytes for which three cards would do: four are taken.",
        ["w1 4xH100-80G"],
        "4 x 55",
        "",
        "w1:0 w1:1 w1:2 w1:3",
    ),
    (
        "Two cards are too few, three are never tried, four do not fit: refused.",
        ["w1 4xH100-80G held 3=70"],
        "2 x 90 or 4 x 55",
        "",
        "no: not_enough_device_memory",
    ),
    (
        "One of eight cards is busy: a model on four takes four, not seven.",
        ["w1 8xH100-80G held 0=70"],
        "8 x 30 or 4 x 55",
        "",
        "w1:1 w1:2 w1:3 w1:4",
    ),
    ("Spread takes the emptiest card.", ["w1 3xH100-80G held 0=10,1=5,2=20"], "1 x 20", "", "w1:1"),
    ("Binpack takes the fullest card that fits.", ["w1 3xH100-80G held 0=10,1=5,2=20"], "1 x 20", "binpack", "w1:2"),
    (
        "Binpack leaves the card alone that is too full.",
        ["w1 3xH100-80G held 0=10,1=5,2=70"],
        "1 x 20",
        "binpack",
        "w1:0",
    ),
    ("Spread takes the emptier worker.", ["w1 2xH100-80G held 0=10", "w2 2xH100-80G"], "1 x 20", "", "w2:0"),
    (
        "Binpack takes the worker that is in use.",
        ["w1 2xH100-80G", "w2 2xH100-80G held 0=10"],
        "1 x 20",
        "binpack",
        "w2:0",
    ),
    ("Nobody's turn: equal workers go by name.", ["w2 1xH100-80G", "w1 1xH100-80G"], "1 x 20", "", "w1:0"),
    (
        "2 % of a card stay free: 79 GiB do not fit on 80.",
        ["w1 1xH100-80G"],
        "1 x 79",
        "",
        "no: not_enough_device_memory",
    ),
    (
        "A second model of 14 GiB on a 24 GiB card whose first is still loading waits.",
        ["w1 1xRTX-24G held 0=14"],
        "1 x 14",
        "",
        "no: not_enough_device_memory",
    ),
    # what others use
    ("Somebody else fills card 0: another card is taken.", ["w1 8x910B3-64G used 0=58"], "1 x 20", "", "w1:1"),
    (
        "Somebody else fills every card: the reason says so.",
        ["w1 2x910B3-64G used 0=58,1=58"],
        "1 x 20",
        "",
        "no: foreign_memory",
    ),
    (
        "Somebody else is there, but the model would not fit anyway.",
        ["w1 1x910B3-64G used 0=5"],
        "1 x 90",
        "",
        "no: not_enough_device_memory",
    ),
    ("A card whose memory cannot be read is not used.", ["w1 2xH100-80G mute 0"], "1 x 20", "", "w1:1"),
    ("No card can be read: unknown is not zero.", ["w1 1xH100-80G mute 0"], "1 x 20", "", "no: device_memory_unknown"),
    ("Readings of ten minutes ago are not trusted.", ["w1 1xH100-80G read 600"], "1 x 20", "", "no: reading_stale"),
    ("Readings of a minute ago are.", ["w1 1xH100-80G read 60"], "1 x 20", "", "w1:0"),
    # health, drains, silence
    ("A card with a critical alarm is left out.", ["w1 2xH100-80G ill 0"], "1 x 20", "", "w1:1"),
    ("A cordoned card is left out.", ["w1 2xH100-80G cordoned 0"], "1 x 20", "", "w1:1"),
    ("Two cards are wanted, one is ill.", ["w1 2xH100-80G ill 0"], "2 x 20", "", "no: devices_not_usable"),
    ("A silent worker gets nothing.", ["w1 1xH100-80G silent", "w2 1xH100-80G held 0=9"], "1 x 20", "", "w2:0"),
    ("Only a silent worker is there.", ["w1 1xH100-80G silent"], "1 x 20", "", "no: worker_silent"),
    ("A drained worker gets nothing new.", ["w1 1xH100-80G drained", "w2 1xH100-80G held 0=9"], "1 x 20", "", "w2:0"),
    ("Only a drained worker is there.", ["w1 1xH100-80G drained"], "1 x 20", "", "no: drained"),
    # groups of devices
    (
        "Card 0 is held: two cards come from what is left of the broken ring.",
        ["w1 8x910B3-64G held 0=1"],
        "2 x 30",
        "",
        "w1:1 w1:2",
    ),
    (
        "Three of the first ring are held: two cards come from the second.",
        ["w1 8x910B3-64G held 0=1,1=1,2=1"],
        "2 x 30",
        "",
        "w1:4 w1:5",
    ),
    (
        "Four cards come from one ring, not from one and a half.",
        ["w1 8x910B3-64G held 1=1"],
        "4 x 30",
        "",
        "w1:4 w1:5 w1:6 w1:7",
    ),
    (
        "One card is taken from the broken ring, so that the other stays whole.",
        ["w1 8x910B3-64G held 5=1"],
        "1 x 30",
        "",
        "w1:4",
    ),
    ("Eight cards need both rings.", [BOX], "8 x 30", "", "w1:0 w1:1 w1:2 w1:3 w1:4 w1:5 w1:6 w1:7"),
    (
        "No ring has four left: two rings are joined.",
        ["w1 8x910B3-64G held 0=1,4=1"],
        "4 x 30",
        "",
        "w1:1 w1:2 w1:3 w1:5",
    ),
    (
        "A worker that has them in one ring goes before one that has not.",
        ["w1 8x910B3-64G held 0=1,4=1", "w2 8x910B3-64G held 0=1,1=1,2=1,3=1"],
        "4 x 30",
        "",
        "w2:4 w2:5 w2:6 w2:7",
    ),
    ("The two chips of one Duo serve together.", ["w1 4x310PDuo-48G held 1=1"], "2 x 20", "", "w1:2 w1:3"),
    ("Cards of which nobody knows the topology are all alike.", ["w1 4xA100-80G held 1=9"], "2 x 20", "", "w1:0 w1:2"),
    # chips and kinds
    ("One replica does not mix chips.", ["w1 1x310P-24G,2x910B3-64G"], "2 x 20", "", "w1:1 w1:2"),
    (
        "Two kinds in one worker: the claim for 910B3 goes to the 910B3.",
        ["w1 1xH100-80G,1x910B3-64G"],
        "1 x 20 chips 910B3",
        "",
        "w1:1",
    ),
    ("The user wants an H100.", ["w1 1x910B3-64G", "w2 1xH100-80G held 0=50"], "1 x 20", "chip h100", "w2:0"),
    ("The engine's estimate is for 910B4, there are only 910B3.", [BOX], "1 x 20 chips 910B4", "", "no: chip_missing"),
    (
        "What the engine can and what the user wants have nothing in common.",
        ["w1 1xH100-80G,1x910B3-64G"],
        "1 x 20 chips 910B3",
        "chip H100",
        "no: chip_missing",
    ),
    ("A worker without accelerators.", ["w1 - ram 64G"], "1 x 20", "", "no: kind_missing"),
    ("Four cards are wanted of a worker with two.", ["w1 2xH100-80G"], "4 x 20", "", "no: too_few_devices"),
    # whole chips and sharing
    ("A chip that holds a small model is not shared.", ["w1 1x910B3-64G held 0=10"], "1 x 10", "", "no: chips_taken"),
    (
        "Sharing is wished, but who is there did not agree.",
        ["w1 1x910B3-64G held 0=10"],
        "1 x 10 may-share",
        "share-chips",
        "no: chips_taken",
    ),
    (
        "Sharing is wished and everybody can: by bytes.",
        ["w1 1x910B3-64G shared 0=10"],
        "1 x 10 may-share",
        "share-chips",
        "w1:0",
    ),
    (
        "Sharing fills a chip before it breaks another, when packed.",
        ["w1 2x910B3-64G shared 1=10"],
        "1 x 10 may-share",
        "share-chips binpack",
        "w1:1",
    ),
    (
        "A shared chip is full.",
        ["w1 1x910B3-64G shared 0=60"],
        "1 x 10 may-share",
        "share-chips",
        "no: not_enough_device_memory",
    ),
    (
        "The engine cannot share (MindIE): it gets no chip with others.",
        ["w1 1x910B3-64G shared 0=10"],
        "1 x 10",
        "share-chips",
        "no: chips_taken",
    ),
    (
        "The engine could, the user does not want it.",
        ["w1 1x910B3-64G shared 0=10"],
        "1 x 10 may-share",
        "",
        "no: chips_taken",
    ),
    ("CUDA devices are shared by bytes without asking.", ["w1 1xH100-80G held 0=40"], "1 x 30", "", "w1:0"),
    # RAM, CPU, unified memory, disk
    ("A model on the CPU goes where most RAM is.", ["w1 - ram 32G", "w2 - ram 64G"], "ram 20", "", "w2"),
    ("A model on the CPU, packed.", ["w1 - ram 32G", "w2 - ram 64G"], "ram 20", "binpack", "w1"),
    ("Not enough RAM anywhere.", ["w1 - ram 16G"], "ram 20", "", "no: not_enough_ram"),
    (
        "Partial offload needs the card and the RAM of one worker.",
        ["w1 1xRTX-24G ram 16G", "w2 1xRTX-24G ram 64G held 0=2"],
        "1 x 20 ram 30",
        "",
        "w2:0",
    ),
    (
        "The card alone is best, offload is second, the CPU last.",
        ["w1 1xRTX-24G ram 64G"],
        "1 x 50 or 1 x 20 ram 30 or ram 50",
        "",
        "w1:0",
    ),
    (
        "The card is full: the CPU it is.",
        ["w1 1xRTX-24G ram 64G held 0=20"],
        "1 x 50 or 1 x 20 ram 30 or ram 50",
        "",
        "w1",
    ),
    (
        "One pool: 100 GiB of device memory and 30 of RAM are more than 121.",
        ["w1 1xGB10-121G ram 121G"],
        "1 x 100 ram 30",
        "",
        "no: not_enough_unified_memory",
    ),
    ("One pool: 90 and 20 fit into 121.", ["w1 1xGB10-121G ram 121G"], "1 x 90 ram 20", "", "w1:0"),
    (
        "One pool: after 100 GiB on the device, 22 GiB of RAM are not there.",
        ["w1 1xGB10-121G ram 121G held 0=100"],
        "ram 22",
        "",
        "no: not_enough_ram",
    ),
    ("The disk has no room for the weights.", ["w1 1xH100-80G disk 10G"], "1 x 20 disk 15", "", "no: not_enough_disk"),
    (
        "The weights are there already: no room is needed.",
        ["w1 1xH100-80G disk 10G has hf:q"],
        "1 x 20 disk 15",
        "",
        "w1:0",
    ),
    (
        "The other worker has room on its disk.",
        ["w1 1xH100-80G disk 10G", "w2 1xH100-80G disk 20G"],
        "1 x 20 disk 15",
        "",
        "w2:0",
    ),
    ("Nobody knows how full the disk is.", ["w1 1xH100-80G"], "1 x 20 disk 15", "", "no: disk_unknown"),
    # wishes about workers
    (
        "Only workers with the label.",
        ["w1 1xH100-80G label zone=a", "w2 1xH100-80G label zone=b"],
        "1 x 20",
        "label zone=b",
        "w2:0",
    ),
    ("No worker has the label.", ["w1 1xH100-80G label zone=a"], "1 x 20", "label zone=c", "no: labels_differ"),
    ("Only this worker.", ["w1 1xH100-80G", "w2 1xH100-80G"], "1 x 20", "worker w2", "w2:0"),
    ("Only a worker that nobody knows.", ["w1 1xH100-80G"], "1 x 20", "worker w9", "no: wished_workers_unknown"),
    (
        "Replicas apart: the other worker, though it is fuller.",
        ["w1 2xH100-80G runs qwen", "w2 2xH100-80G held 0=70"],
        "1 x 20",
        "apart",
        "w2:1",
    ),
    ("Replicas apart and no other worker.", ["w1 2xH100-80G runs qwen"], "1 x 20", "apart", "no: replica_is_here"),
    ("Another model's replica keeps nobody away.", ["w1 2xH100-80G runs llama"], "1 x 20", "apart", "w1:0"),
    (
        "Spread puts the second replica elsewhere, even without being told.",
        ["w1 2xH100-80G runs qwen", "w2 1xH100-80G held 0=9"],
        "1 x 20",
        "",
        "w2:0",
    ),
    (
        "A worker that has the weights goes first.",
        ["w1 1xH100-80G", "w2 1xH100-80G held 0=9 has hf:q"],
        "1 x 20",
        "",
        "w2:0",
    ),
    (
        "But not where the model does not fit.",
        ["w1 1xH100-80G", "w2 1xH100-80G held 0=70 has hf:q"],
        "1 x 20",
        "",
        "w1:0",
    ),
    (
        "Hand-picked devices are obeyed or refused, never replaced.",
        ["w1 2xH100-80G held 0=70"],
        "1 x 20",
        "device w1:0",
        "no: not_enough_device_memory",
    ),
    (
        "A hand-picked device that is not there.",
        ["w1 1xH100-80G"],
        "1 x 20",
        "device w1:7",
        "no: chosen_device_unknown",
    ),
    (
        "A hand-picked device of a worker that was not wished.",
        ["w1 1xH100-80G", "w2 1xH100-80G"],
        "1 x 20",
        "device w1:0 worker w2",
        "no: chosen_worker_not_wished",
    ),
    # several workers
    (
        "A model over two boxes: a leader and a follower.",
        [BOX, "w2 8x910B3-64G"],
        "8 x 60 workers 2",
        "",
        " ".join(f"w{w}:{i}" for w in (1, 2) for i in range(8)),
    ),
    ("One box is too few for it.", [BOX], "8 x 60 workers 2", "", "no: too_few_workers"),
    (
        "Two boxes with different chips do not serve together.",
        [BOX, "w2 8x910B4-64G"],
        "8 x 60 workers 2",
        "",
        "no: too_few_workers",
    ),
    (
        "Boxes in different networks do not serve together.",
        ["w1 2x910B3-64G label network=a", "w2 2x910B3-64G label network=b", "w3 2x910B3-64G label network=a"],
        "2 x 60 workers 2",
        "",
        "w1:0 w1:1 w3:0 w3:1",
    ),
    (
        "One box is preferred, two are the second choice.",
        [BOX, "w2 8x910B3-64G"],
        "8 x 30 or 8 x 15 workers 2",
        "",
        " ".join(f"w1:{i}" for i in range(8)),
    ),
    (
        "Cards picked by hand on two workers, for a claim on two.",
        [BOX, "w2 8x910B3-64G"],
        "1 x 60 workers 2",
        "device w1:3 device w2:5",
        "w1:3 w2:5",
    ),
    (
        "Cards picked by hand on two workers, for a model on one.",
        [BOX, "w2 8x910B3-64G"],
        "2 x 60",
        "device w1:3 device w2:5",
        "no: chosen_on_several_workers",
    ),
]


@pytest.mark.parametrize(
    ("cluster", "question", "wished", "expected"),
    [pytest.param(*rest, id=sentence) for sentence, *rest in SCENARIOS],
)
def test_scenario(cluster: list[str], question: str, wished: str, expected: str) -> None:
    assert answer(cluster, question, wished) == expected
    assert answer(cluster[::-1], question, wished) == expected


def test_a_worker_that_has_the_engine_goes_before_one_that_must_bring_it() -> None:
    cluster = ["w1 1xH100-80G", "w2 1xH100-80G held 0=9 engine vllm"]
    assert answer(cluster, "1 x 20", engine="vllm") == "w2:0"


def test_a_backend_that_no_worker_can_run_is_named() -> None:
    assert answer(["w1 1xH100-80G"], "1 x 20", engine="mindie") == "no: backend_missing"


def test_there_are_enough_of_them_and_no_sentence_twice() -> None:
    sentences = [sentence for sentence, *_ in SCENARIOS]
    assert len(sentences) == len(set(sentences)) >= 60
