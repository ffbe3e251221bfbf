"""Traces: what each format says, and what is told of lines that are wrong."""

import gzip
from pathlib import Path

import pytest

from reprieve_study.generator import compressed, generated, in_window, resampled, with_drawn_priorities
from reprieve_study.job import GPU, Job
from reprieve_study.sources import MappingError, generator_options, parse_mappings, trace_in
from reprieve_study.studies import StudyError, nodes_in
from reprieve_study.text_lines import TraceError
from reprieve_study.trace import FARTHEST, PriorityMapping, Trace, written


def read(text: str, *mapped: str) -> Trace:
    return trace_in("t", text.encode(), parse_mappings(mapped))


def test_json_lines() -> None:
    trace = read(
        '{"arrival": 10, "duration": 60, "pods": 2, "cpu": 4, "gpu": "1", "gang": 2, "whole": true, '
        '"tenant": "a", "budget": 1, "priority": 5, "name": "x", "checkpoint": 10, "grace": 3}\n\n'
        '{"arrival": 70.5, "duration": 1}\n'
    )
    first, second = trace.jobs
    assert first == Job(
        name="x",
        arrival=0.0,
        duration=60.0,
        pods=2,
        requests=(("cpu", "4"), (GPU, "1")),
        priority=5,
        gang=2,
        whole=True,
        tenant="a",
        budget=1,
        checkpoint=10.0,
        grace=3.0,
    )
    assert (second.name, second.arrival, second.pods) == ("job-3", 60.5, 1)
    assert not trace.problems


def test_csv_and_what_is_written_is_read_again() -> None:
    trace = read("arrival,duration,cpu,tenant\n0,10,500m,a\n5,20,2,\n")
    assert [job.requests for job in trace.jobs] == [(("cpu", "500m"),), (("cpu", "2"),)]
    assert [job.tenant for job in trace.jobs] == ["a", "default"]
    assert read(written(trace.jobs).decode()).jobs == trace.jobs
    assert read(written(trace.jobs).decode()).digest == trace.digest


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"arrival": -1, "duration": 1}', "arrival: expected a number of seconds, at least 0, got '-1'"),
        ('{"arrival": 0}', "duration: expected a number of seconds, got 'nothing'"),
        ('{"arrival": 0, "duration": 0}', "duration: expected a number of seconds, more than 0, got '0'"),
        (
            '{"arrival": 1500000000000, "duration": 1}',
            "arrival: expected a number of seconds from 0 to 3153600000, got '1500000000000'",
        ),
        (
            '{"arrival": 0, "duration": null}',
            "duration: expected a number of seconds, at least 0, got 'null'",
        ),
        ('{"arrival": true, "duration": 1}', "arrival: expected a number of seconds, at least 0, got 'true'"),
        ('{"arrival": "NaN", "duration": 1}', "arrival: expected a number of seconds, at least 0, got 'NaN'"),
        (
            f'{{"arrival": {10**400}, "duration": 1}}',
            "arrival: expected a number of seconds, at least 0, got '1",
        ),
        (
            f'{{"arrival": 0, "duration": 1, "pods": {10**400}}}',
            "pods: expected a whole number from 1 to 100000",
        ),
        ('{"arrival": 0, "duration": 1, "pods": 1.5}', "pods: expected a whole number from 1 to 100000"),
        ('{"arrival": 0, "duration": 1, "gang": 2}', "gang: expected at most the number of pods, 1, got '2'"),
        ('{"arrival": 0, "duration": 1, "cpu": "much"}', "cpu: expected a quantity such as 500m, 2 or 1Gi"),
        ('{"arrival": 0, "duration": 1, "speed": 3}', "speed: expected one of the columns arrival, budget,"),
        (
            '{"arrival": 0, "duration": 1, "name": "A B"}',
            "name: expected lower-case letters, digits, - and .",
        ),
        ('{"arrival": 0, "duration": 1, "whole": 7}', "whole: expected true or false, got '7'"),
        ('{"arrival": 0, "duration": 1, "name": "same"}', "name: expected a name that no other job has"),
        ("[1]", "expected a JSON object"),
        ('{"arrival": 0', "expected a JSON object, got something that cannot be read"),
    ],
)
def test_a_wrong_line_is_left_out_and_named(line: str, sentence: str) -> None:
    good = '{"arrival": 0, "duration": 1, "name": "same"}'
    trace = read(f"{good}\n{line}\n")
    assert len(trace.jobs) == 1
    (problem,) = trace.problems
    assert problem.line == 2
    assert sentence in str(problem)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "t: expected a job on each line, got an empty file"),
        (b"a,b\n1,2\n", "t: expected a header with the column arrival, got a, b"),
        (b'[{"arrival": 1}]\n', """t: expected a header with the column arrival, got [{"arrival": 1}]"""),
        (b"\xff\xfe", "t: expected a text file in UTF-8, got other bytes at 0"),
    ],
)
def test_what_is_no_trace(content: bytes, sentence: str) -> None:
    with pytest.raises(TraceError) as error:
        trace_in("t", content)
    assert str(error.value) == sentence


def test_a_row_with_too_many_columns_is_named() -> None:
    trace = read("arrival,duration\n0,1\n0,1,2\n")
    assert [str(problem) for problem in trace.problems] == ["line 3: expected 2 columns, got 3"]


def test_a_quote_without_an_end_spoils_one_line() -> None:
    trace = read('arrival,duration,tenant\n0,1,"a\n5,1,"b"\n9,1,c\n')
    assert [str(one) for one in trace.problems] == [
        "line 2: expected cells between commas, got quotes that do not end"
    ]
    assert [job.tenant for job in trace.jobs] == ["b", "c"]
    philly = read('submit_time,duration,num_gpus,vc\n0,1,1,"a\n5,1,1,b\n')
    assert [one.line for one in philly.problems] == [2]
    assert len(philly.jobs) == 1


def test_a_cell_that_is_far_too_long_is_named() -> None:
    trace = read(f'arrival,duration,tenant\n0,1,"{"x" * 200_000}"\n9,1,c\n')
    assert [one.line for one in trace.problems] == [2]


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    trace = read('\ufeff{"arrival": 0, "duration": 1}\r\n\r\n{"name": "\x1c\u2028"}\r\n{"arrival": 1}\r\n')
    assert [one.line for one in trace.problems] == [3, 4]


def test_a_header_with_spaces_and_a_column_without_a_name() -> None:
    trace = read(",arrival , duration\n0,5,1\n1,6,1\n")
    (problem,) = trace.problems
    assert str(problem).startswith("line 1: '': expected one of the columns arrival, budget")
    (problem,) = read("\n\narrival,duration,speed\n0,5,1\n").problems
    assert str(problem).startswith("line 3: 'speed': expected one of the columns")
    assert str(problem).endswith("; this column is not read")
    assert [job.arrival for job in trace.jobs] == [0.0, 1.0]
    assert len(read("arrival , duration\n5,1\n").jobs) == 1
    with pytest.raises(TraceError, match="t: expected each column once, got 'arrival' twice"):
        read("arrival,duration,arrival\n5,1,6\n")


def test_a_gzip_file() -> None:
    content = gzip.compress(b"arrival,duration\n5,1\n")
    assert len(trace_in("t", content).jobs) == 1
    with pytest.raises(TraceError, match=r"t: the file is (truncated|damaged)"):
        trace_in("t", content[:-9])


# --- other formats -------------------------------------------------------------------------------

OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time"


def test_openb() -> None:
    text = f"{OPENB}\np0,12000,16384,1,1000,,LS,Running,100,400\np1,6000,1024,0,0,,BE,Failed,150,140\n"
    trace = read(text)
    (job,) = trace.jobs
    assert (job.arrival, job.duration, job.priority) == (0.0, 300.0, 1000)
    assert job.requests == (("cpu", "12000m"), ("memory", "16384Mi"), (GPU, "1"))
    assert [str(one) for one in trace.problems] == [
        "line 3: deletion_time: expected more than creation_time, 150, got 140"
    ]
    assert any("qos" in text for text in trace.invented)
    mapped = read(text, "qos=LS:7,BE:1")
    assert mapped.jobs[0].priority == 7
    assert not any("qos" in text for text in mapped.invented)


def test_openb_as_its_file_is() -> None:
    trace = read(
        f"{OPENB},scheduled_time\n"
        "p0,12000,16384,1,460,T4|V100M16,LS,Running,10001018,12902960,10001028\n"
        "p1,8000,30517,1,1000,,BE,Pending,12774042,12774043,\n"
        "p2,8000,30517,1,230,,BE,Pending,12774042,12774042,\n"
    )
    assert [job.duration for job in trace.jobs] == [12902960 - 10001028, 1.0]
    assert trace.invented[1:] == (
        "1 pods were never scheduled: they run for as long as they waited",
        "1 pods request a share of a GPU, which counts as a whole one",
        "1 pods name models of GPUs (gpu_spec), which is not taken over",
    )
    assert [str(one) for one in trace.problems] == [
        "line 4: deletion_time: expected more than creation_time, 12774042, got 12774042"
    ]


def test_nodes_of_openb(tmp_path: Path) -> None:
    """As CSV, and as its YAML, in which GPUs have another name."""
    header = "sn,cpu_milli,memory_mib,gpu,model\n"
    path = tmp_path / "nodes"
    path.write_text(f"{header}n0,32000,262144,0,\nn1,96000,393216,8,G2\n")
    plain, gpus = nodes_in(path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert nodes_in(path) == (plain, gpus)
    assert GPU not in plain.status.allocatable
    assert gpus.status.allocatable == {"cpu": "96000m", "memory": "393216Mi", "pods": "1001", GPU: "8"}
    assert gpus.metadata.labels["alibabacloud.com/gpu-card-model"] == "G2"
    path.write_text(f"{header}n0,32000,262144,0,\nn1,many,393216,8,G2\n")
    with pytest.raises(StudyError, match="nodes: line 3: cpu_milli: expected a number from 0 to"):
        nodes_in(path)
    path.write_text(f"{header}n0,1,1,0,\nn0,1,1,0,\n")
    with pytest.raises(StudyError, match="nodes: expected a name for each node, got one twice"):
        nodes_in(path)
    path.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
        "status: {allocatable: {alibabacloud.com/gpu-count: '2', cpu: 64000m}}\n"
    )
    (one,) = nodes_in(path)
    assert one.status.allocatable[GPU] == "2"


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("sn,cpu_milli,memory_mib,gpu,model", "expected jobs, got the nodes of openb, which --nodes reads"),
        (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli",
            "expected pods of openb with the columns qos, creation_time, deletion_time, got name, cpu_milli",
        ),
        (
            "name,time,application,num_replicas,batch_size",
            "expected arrivals with the columns duration and num_gpus, as Philly has them, got name, time",
        ),
    ],
)
def test_files_of_the_same_projects_that_are_no_traces(header: str, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        read(f"{header}\na,1,2,3,4\n")


def test_philly() -> None:
    trace = read("jobid,vc,submit_time,duration,num_gpu\na,VC One,50,600,16\nb,,60,60,0\n")
    (job,) = trace.jobs
    assert (job.pods, job.gang, job.tenant) == (2, 2, "vc-one")
    assert dict(job.requests)[GPU] == "8"
    assert trace.priorities_from_seed
    assert any("priorities" in text for text in trace.invented)
    assert [str(one) for one in trace.problems] == ["line 3: GPUs: expected at least 1, got 0"]


def test_philly_as_its_file_is() -> None:
    """Dates in any order; the columns are those of sia-simulator/traces/philly.csv."""
    trace = read(
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
        "2017-10-09 06:13:03,2951.0,12,2951.0,6214e9\n"
        "2017-10-09 08:13:03+02:00,0.0,1,0,6214e9\n"
        "2017-10-09T06:13:04Z,5.0,1,0,6214e9\n"
        "yesterday,5.0,1,0,6214e9\n"
    )
    assert [(job.arrival, job.duration, job.pods, job.tenant) for job in trace.jobs] == [
        (0.0, 2951.0, 2, "6214e9"),
        (1.0, 5.0, 1, "6214e9"),
        (2932.0, 66.0, 1, "11cb48"),
    ]
    assert [str(one) for one in trace.problems] == [
        "line 4: duration: expected more than 0 seconds, got '0.0'",
        "line 6: timestamp: expected a number of seconds or a date, got 'yesterday'",
    ]


SWF = "1 100 5 3600 32 -1 1024 32 -1 -1 1 7 1 1 1 1 -1 -1"
FORMATS = {
    "openb": (f"{OPENB}\n", "p0,12000,16384,1,1000,,LS,Running,100,400", ","),
    "philly": ("submit_time,duration,num_gpu\n", "50,600,16", ","),
    "swf": ("; Version: 2.2\n", SWF, " "),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("odd", ["nan", "inf", "-inf", "1e308", "99999999999999999999", "-1", "0", "much"])
def test_odd_numbers_never_become_jobs_without_an_end(kind: str, odd: str) -> None:
    header, line, sign = FORMATS[kind]
    for place in range(len(line.split(sign))):
        cells = line.split(sign)
        cells[place] = odd
        for job in read(f"{header}{line}\n{sign.join(cells)}\n").jobs:
            assert 0 <= job.arrival <= FARTHEST
            assert 0 < job.duration <= FARTHEST
            assert 0 < job.pods <= 100_000


def test_the_standard_workload_format() -> None:
    line = "1 100 5 3600 32 -1 1024 32 -1 -1 1 7 1 1 1 1 -1 -1"
    trace = read(f"; Version: 2.2\n{line}\n2 200 0 -1 4 -1 -1 4 -1 -1 1 7 1 1 1 1 -1 -1\n1 2 3\n")
    (job,) = trace.jobs
    assert (job.duration, job.pods, job.gang, job.tenant) == (3600.0, 2, 2, "user-7")
    assert job.requests == (("cpu", "16"), ("memory", "16384Ki"))
    assert [one.line for one in trace.problems] == [3, 4]
    (problem,) = read(f"; Version: 2.2\n{line.replace(' 100 ', ' 1500000000000 ')}\n").problems
    assert str(problem) == "line 2: expected 18 numbers of at most 3153600000, got '1500000000000'"


def test_mappings_and_generators() -> None:
    assert parse_mappings(["qos=LS:1000", "qos=BE:-1"]) == PriorityMapping("qos", {"LS": 1000, "BE": -1})
    assert parse_mappings([]) is None
    assert generator_options("generated:days=2,nodes=5").nodes == 5
    with pytest.raises(TraceError, match="expected some of days, nodes"):
        generator_options("generated:speed=2")
    with pytest.raises(TraceError, match="days: expected a number between 0 and 1000000, got '1e6'"):
        generator_options("generated:days=1e6")
    with pytest.raises(TraceError, match="days: expected a number more than 0, got '-1'"):
        generator_options("generated:days=-1")


def test_a_generated_trace_without_gangs() -> None:
    options = generator_options("generated:days=0.2,nodes=4,gangs=0,services=0,urgent=0")
    assert {job.priority for job in generated(options, 0)} == {0}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("gangs=5", "gangs: expected a share from 0 to 1, got '5'"),
        ("gangs=nan", "gangs: expected a share from 0 to 1, got 'nan'"),
        ("gangs=0.9", "expected shares of at most 1 together, got gangs=0.9, services=0.15, urgent=0.1"),
        ("nodes=0.5", "nodes: expected a whole number, got '0.5'"),
        ("tenants=0.5", "tenants: expected a whole number, got '0.5'"),
        ("days=1,days=2", "expected days once, got it twice"),
    ],
)
def test_generators_with_mistakes(given: str, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        generator_options(f"generated:{given}")


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["qos"], "expected COLUMN=VALUE:PRIORITY"),
        (["qos=A:"], "expected COLUMN=VALUE:PRIORITY"),
        (["qos=A:--5"], "expected COLUMN=VALUE:PRIORITY"),
        (["qos=A:²"], "expected COLUMN=VALUE:PRIORITY"),
        (["qos=A:99999999999"], "A: expected a priority from -2147483648 to 1000000000, got 99999999999"),
        (["qos=A:1,A:2"], "expected one priority for A, got 1 and 2"),
        (["qos=A:1", "user=A:1"], "expected one column, got qos and user"),
    ],
)
def test_mappings_with_mistakes(texts: list[str], sentence: str) -> None:
    with pytest.raises(MappingError, match=sentence):
        parse_mappings(texts)


PHILLY = "timestamp,duration,num_gpus,cluster\n5,10,1,a\n6,10,1,b\n7,10,1,c\n"


@pytest.mark.parametrize(
    ("text", "mapped", "wrong"),
    [
        (PHILLY, "cluster=a:7,b:-2", "cluster: expected one of a, b, as --map says, got 'c'"),
        (
            f"{SWF}\n{SWF.replace(' 7 ', ' 8 ')}\n{SWF.replace(' 7 ', ' 9 ')}\n",
            "user=7:7,8:-2",
            "user: expected",
        ),
        (
            f"{OPENB}\np,1,1,0,0,,LS,Failed,1,2\np,1,1,0,0,,LS,Running,2,3\np,1,1,0,0,,LS,Pending,3,4\n",
            "pod_phase=Failed:7,Running:-2",
            "pod_phase: expected one of Failed, Running",
        ),
        ("arrival,duration,tenant\n0,1,a\n1,1,b\n2,1,\n", "tenant=a:7,b:-2", "tenant: expected one of a, b"),
        (
            '{"arrival": 0, "duration": 1, "whole": true}\n{"arrival": 1, "duration": 1, "whole": false}\n'
            '{"arrival": 2, "duration": 1, "whole": 1}\n',
            "whole=true:7,false:-2",
            "whole: expected one of true, false, as --map says, got '1'",
        ),
    ],
)
def test_every_format_takes_priorities_from_a_column(text: str, mapped: str, wrong: str) -> None:
    """A mapping that is not used would be printed in the report all the same."""
    trace = read(text, mapped)
    assert [job.priority for job in trace.jobs] == [7, -2]
    assert not trace.priorities_from_seed
    assert not any("priorities" in one for one in trace.invented)
    (problem,) = trace.problems
    assert wrong in str(problem)
    with pytest.raises(TraceError, match=r"t: --map: expected one of the columns .*, got 'qoz'"):
        read(text, "qoz=a:7")


# --- arrivals ------------------------------------------------------------------------------------


def jobs(count: int) -> list[Job]:
    return [Job(name=f"j{i}", arrival=10.0 * i, duration=5.0) for i in range(count)]


def test_a_window_and_compression() -> None:
    assert [job.arrival for job in in_window(jobs(10), 20, 50)] == [0.0, 10.0, 20.0]
    assert [job.arrival for job in compressed(jobs(3), 10)] == [0.0, 1.0, 2.0]


def test_blocks_are_drawn_by_the_seed() -> None:
    first = resampled(jobs(140), 1)
    assert first == resampled(jobs(140), 1)
    assert first != resampled(jobs(140), 2)
    assert len({job.name for job in first}) == len(first)
    assert all(0 <= job.arrival <= 1390 for job in first)
    assert abs(len(first) - 140) < 30
    assert resampled([], 1) == []


def test_priorities_are_drawn_by_seed_and_name() -> None:
    drawn = with_drawn_priorities(jobs(50), (1, 2, 3), 4)
    assert {job.priority for job in drawn} == {1, 2, 3}
    assert drawn == with_drawn_priorities(jobs(50), (1, 2, 3), 4)
    assert with_drawn_priorities(jobs(2), (), 4) == jobs(2)
