"""What is left of JavaScript when its local names are shortened: the same program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import join_cockpit as joining
from tools.shortening import shortened
from tools.squeezing import squeezed

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("const at=document;\nfunction f(row){return{row,age:row.age}}\n", "function f(a){return{row:a,age:a.age}}\n"),
        ("const f=({key='',...rest},[one=key])=>h(rest,one);\n", "const f=({key:a='',...c},[b=a])=>h(c,b);\n"),
        (
            "const f=each=>{let sum=each,other;for(const [at] of sum)other=at}\n",
            "=a=>{let c=a,b;for(const [at] of c)b=at}\n",
        ),
        (
            "const f={last(row){return row.last?row:last},x:async(y)=>y};\n",
            "{last(a){return a.last?a:last},x:async(b)=>b};\n",
        ),
        ("const f=(text)=>`text ${text} ${g(`${text}`)} \\${text}`;\n", "(a)=>`text ${a} ${g(`${a}`)} \\${text}`;\n"),
        ("const f=(a,test)=>test?{a}:a.test(/test/);\n", "(a,b)=>b?{a:a}:a.test(/test/);\n"),
        ("try{f()}catch(error){f.catch(error)}\n", "try{f()}catch(a){f.catch(a)}\n"),
    ],
)
def test_names_of_functions_own_are_short_and_all_others_stay(text: str, left: str) -> None:
    assert shortened(text, {"f", "at"}).endswith(left)


def test_no_short_name_is_one_that_the_program_has_from_elsewhere() -> None:
    assert shortened("const f=(row)=>a(b,row);\n", {"f"}) == "const f=(c)=>a(b,c);\n"


@pytest.mark.parametrize("module", [None, joining.PAST, joining.RUNS], ids=["cockpit", "past", "runs"])
def test_the_joined_file_is_the_program_of_its_sources(module: joining.LaterModule | None, tmp_path: Path) -> None:
    if not (HERE / "node_modules" / "typescript").exists():
        pytest.skip("TypeScript is not installed: npm --prefix tests/cockpit ci")
    plain, joined = tmp_path / "plain.js", joining.JOINED if module is None else module.file
    plain.write_text(joining.long(module))
    script = ["node", str(HERE / "same_program.js"), str(plain), str(joined)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 names" not in done.stdout


def test_another_program_is_told_from_it(tmp_path: Path) -> None:
    if not (HERE / "node_modules" / "typescript").exists():
        pytest.skip("TypeScript is not installed: npm --prefix tests/cockpit ci")
    one, other = tmp_path / "one.js", tmp_path / "other.js"
    one.write_text("const f = (row, at) => { return row.age + at; };\n")
    for text in ("const f=(a,b)=>{return a.b+b};", "const f=(a,b)=>{return a.age+a};", "const f=(a,b)=>a.age+b;"):
        other.write_text(squeezed(text))
        script = ["node", str(HERE / "same_program.js"), str(one), str(other)]
        assert subprocess.run(script, capture_output=True, check=False).returncode == 1, text
