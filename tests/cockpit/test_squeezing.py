"""What is left of JavaScript when it is made smaller to send: the same program."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tools.squeezing import squeezed


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("const a = b + 1; // one more\n", "const a=b+1;\n"),
        (
            "  /** A line.\n   * @param {string} a */\n  function f(a) {\n    return a;\n  }\n",
            "function f(a){return a}\n",
        ),
        (
            "function f() {\n  a();\n}\n\nfunction g() {}\nconst b = 1;\n",
            "function f(){a()}function g(){}\nconst b=1;\n",
        ),
        ("const a = b + +c - -d;", "const a=b+ +c- -d;\n"),
        (
            'say("a  //  b", `x  ${ f(`y  // ${z}`) }  /* w */`);',
            'say("a  //  b",`x  ${f(`y  // ${z}`)}  /* w */`);\n',
        ),
        ('const r = /"[^/ "]  \\/ /g, q = a / b / c;', 'const r=/"[^/ "]  \\/ /g,q=a/b/c;\n'),
        ("return typeof a in b ? (a) : [\n  1,\n  2,\n];", "return typeof a in b?(a):[1,2];\n"),
        ("while (a());\n{\n  b();\n}\nif (c) {\n  while (d());\n}\n", "while(a());\n{b()}\nif(c){while(d());}\n"),
        ("a = b\n  .map(c)\n  ? d\n  : e;\nf();\n(g)();\n", "a=b.map(c)?d:e;\nf();\n(g)();\n"),
        ("const o = {\n  f() {},\n  g: 1,\n};\nlet h = () => {\n};\n", "const o={f(){},g:1};\nlet h=()=>{};\n"),
        (
            "const a = 1;\nconst b = (c) => {\n  let d = 1;\n  let e;\n};\nlet f;\n",
            "const a=1,b=c=>{let d=1,e};\nlet f;\n",
        ),
        (
            "const a = 1;\nif (b) c();\nconst d = 2;\nfor (const e of d) f(e);\n",
            "const a=1;\nif(b)c();\nconst d=2;\nfor(const e of d)f(e);\n",
        ),
        ("if (a) {\n  const b = 1;\n}\nconst c = { const: 1 };\n", "if(a){const b=1}\nconst c={const:1};\n"),
        (
            "f((a) => (b) => a + b, async (c) => c, (d, e) => d, ({ g }) => g);",
            "f(a=>b=>a+b,async c=>c,(d,e)=>d,({g})=>g);\n",
        ),
        ("return (a) => f(a) >= (a);", "return a=>f(a)>=(a);\n"),
        ('const escaped = "\\"  // no comment";', 'const escaped="\\"  // no comment";\n'),
        ('const t = `\\`  ${ {a: "}"}.a }  `  ;', 'const t=`\\`  ${{a:"}"}.a}  `;\n'),
    ],
)
def test_only_what_people_need_is_left_out(text: str, left: str) -> None:
    assert squeezed(text) == left


def test_what_is_squeezed_twice_stays_as_it_is() -> None:
    once = squeezed("export function f(a, b) {\n  // why\n  return a\n    ? b : { a, b };\n}\n")
    assert squeezed(once) == once


def test_a_squeezed_program_does_the_same() -> None:
    if shutil.which("node") is None:
        pytest.skip("no node here")
    program = """
    const words = (text) => text.replace(/[/"` ]+/g, "-"); // not a division
    const sum = [1, 2, 3].reduce((all, each) => all + each / 2, 0);
    console.log(`${words('a / "b" `')}  ${sum > 2 ? `${sum}  !` : "no"}`, 1 - -1, typeof sum);
    """
    said = [
        subprocess.run(["node", "-e", each], capture_output=True, text=True, check=True).stdout
        for each in (program, squeezed(program))
    ]
    assert said[0] == said[1] == "a-b-  3  ! 2 number\n"
