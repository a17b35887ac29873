//! The Python package: built into a wheel, installed into an environment of its own, and used as its documents show.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::shared::known;

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python")
}

#[track_caller]
fn fine(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (told, said) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{told}\n{said}");
    told.into_owned()
}

/// The Python of the environment in which the package is installed; `None` where Python or its tools lack.
fn python() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(installed).as_deref()
}

/// Builds the wheel with the artifacts of the test build, and installs it next to the packages of the tests'
/// Python.
fn installed() -> Option<PathBuf> {
    let tools = std::env::var("JITTERLAB_PYTHON").unwrap_or_else(|_| "python3".into());
    let needed = "import maturin, mypy, numpy, pandas, polars, pyarrow, sysconfig; print(sysconfig.get_path('purelib'))";
    let Some(packages) =
        Command::new(&tools).args(["-c", needed]).output().ok().filter(|o| o.status.success())
    else {
        assert!(
            std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(),
            "the tools of the Python package are required here"
        );
        eprintln!(
            "skipped: needs a Python with maturin, mypy, pandas, polars and pyarrow (./test installs them)"
        );
        return None;
    };
    // In Cargo's folder for tests: all tests of a process share it, so none of them removes it.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let _ = fs::remove_dir_all(&folder);
    let built = folder.join("wheels");
    let profile =
        match Path::new(env!("CARGO_BIN_EXE_jitterlab")).parent().and_then(Path::file_name).unwrap().to_str()
        {
            Some("debug") => "dev",
            profile => profile.unwrap(),
        };
    fine(
        Command::new(&tools)
            .args(["-m", "maturin", "build", "--locked", "--profile", profile])
            .args(["--auditwheel", "skip", "--out"])
            .arg(&built)
            .arg("--manifest-path")
            .arg(package().join("Cargo.toml")),
    );
    let environment = folder.join("environment");
    fine(Command::new(&tools).args(["-m", "venv", "--without-pip"]).arg(&environment));
    let python = environment.join("bin/python");
    let own =
        fine(Command::new(&python).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]));
    fs::write(Path::new(own.trim()).join("tests.pth"), &packages.stdout).unwrap();
    let wheel = fs::read_dir(&built).unwrap().next().unwrap().unwrap().path();
    fine(
        Command::new(&tools)
            .args(["-m", "pip", "--python"])
            .arg(&python)
            .args(["install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"])
            .arg(&wheel),
    );
    Some(python)
}

/// Runs a program of Python in a folder.
#[track_caller]
fn ran(python: &Path, folder: &Path, args: &[&str]) -> String {
    fine(Command::new(python).args(args).current_dir(folder).env("XDG_CONFIG_HOME", folder))
}

/// The programs of a document.
fn programs(document: &str) -> Vec<String> {
    let text = fs::read_to_string(document).unwrap();
    let blocks = text.split("\n```python\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap().to_owned()).collect()
}

#[test]
fn what_the_documents_show_goes_from_nothing_to_a_page() {
    let Some(python) = python() else { return };
    for document in ["../../docs/guide/own-program.md", "README.md"] {
        let folder = TempDir::new().unwrap();
        let programs = programs(package().join(document).to_str().unwrap());
        assert!(programs[0].lines().filter(|line| !line.is_empty()).count() <= 10, "more than ten lines");
        for program in &programs {
            let said = ran(python, folder.path(), &["-c", program]);
            assert!(program.contains("Probe(") || !said.is_empty(), "{program}");
        }
        let page = fs::read_to_string(folder.path().join("loop.html")).unwrap();
        assert!(page.contains("</html>") && page.len() > 50_000);
    }
}

#[test]
fn the_examples_run_and_their_types_are_right() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let examples = package().join("examples");
    let example = |name: &str| examples.join(name).to_str().unwrap().to_owned();
    let said = ran(python, folder.path(), &[&example("controller.py"), "a.parquet", "1"]);
    assert!(said.contains("us late") && said.contains("missed:"), "{said}");
    let said = ran(python, folder.path(), &[&example("two_threads.py"), "two.parquet"]);
    assert!(said.contains("slow 50 activations"), "{said}");
    ran(python, folder.path(), &[&example("controller.py"), "b.parquet", "1"]);
    let mut gate = Command::new(python);
    gate.args([&example("gate.py"), "a.parquet", "b.parquet"]).current_dir(folder.path());
    let Output { status, stdout, stderr } = gate.output().unwrap();
    let told = String::from_utf8_lossy(&stdout);
    let judged = status.code().is_some_and(|code| [0, 1, 3].contains(&code))
        && told.contains("controller: real differences");
    assert!(judged, "{status}\n{told}\n{}", String::from_utf8_lossy(&stderr));
    let mypy = "import runpy, sys; sys.argv[0] = 'mypy'; runpy.run_module('mypy', run_name='__main__')";
    let programs = ["controller.py", "two_threads.py", "gate.py"].map(example);
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let strict = ["-c", mypy, "--strict", "--ignore-missing-imports", "-p", "jitterlab"];
    ran(python, folder.path(), &strict);
    ran(python, folder.path(), &[&strict[..4], &programs[..]].concat());
}

/// Program that runs a notebook: each cell in turn, with the last expression shown as a notebook shows it.
const NOTEBOOK: &str = "
import ast, json, sys
shown = []
names = {}
for cell in json.load(open(sys.argv[1]))['cells']:
    if cell['cell_type'] != 'code':
        continue
    body = ast.parse(''.join(cell['source']))
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, 'cell', 'exec'), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), 'cell', 'eval'), names)
        kinds = [kind for kind in ('_repr_html_', '_repr_svg_') if hasattr(value, kind)]
        shown.append((type(value).__name__, getattr(value, kinds[0])() if kinds else repr(value)))
print(json.dumps(shown))
";

#[test]
fn the_notebook_runs_and_shows_its_figures() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let notebook = package().join("examples/run.ipynb");
    let said = ran(python, folder.path(), &["-c", NOTEBOOK, notebook.to_str().unwrap()]);
    let shown: Vec<(String, String)> = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let named =
        |name: &str| &shown.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("no {name}")).1;
    assert!(named("Run").contains("<svg") && named("Figure").contains("<svg"));
    for (name, part) in [("RunAnalysis", "latency"), ("Outlook", "<svg"), ("ServoResult", "<svg")] {
        assert!(named(name).contains(part), "{name}");
    }
}

#[test]
fn its_answers_are_those_of_the_program() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let run = known::run(folder.path(), "run.parquet", 1_000_000, 5_000, |k| k * 7_919 % 300_000);
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/peers");
    for file in [run, peers.join("cyclictest-v.txt"), peers.join("cyclictest-h.txt")] {
        if !file.exists() {
            panic!("{} is not where it was", file.display());
        }
        let file = file.to_str().unwrap();
        let program = "import jitterlab, sys, warnings; warnings.simplefilter('ignore'); \
                       print(jitterlab.analyze(sys.argv[1]).json())";
        let theirs: Value =
            serde_json::from_str(&ran(python, folder.path(), &["-c", program, file])).unwrap();
        let ours: Value =
            serde_json::from_str(&known::answered(folder.path(), &["analyze", "--json", file])).unwrap();
        assert_eq!(theirs, ours, "{file}");
    }
    let hostile = package().join("tests/used_as_it_should_not_be.py");
    ran(python, folder.path(), &[hostile.to_str().unwrap(), peers.to_str().unwrap()]);
}

#[test]
fn its_figures_are_those_that_the_schema_describes() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let run = known::run_with_cause(folder.path(), "why.parquet");
    let files = ["tests/described.py", "../../docs/formats/schema.json", "../trace/tests/peers"];
    let files = files.map(|file| package().join(file).to_str().unwrap().to_owned());
    let args: Vec<&str> = files.iter().map(String::as_str).chain(run.to_str()).collect();
    ran(python, folder.path(), &args);
}
