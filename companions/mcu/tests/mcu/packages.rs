//! The library as others take it: the Arduino IDE, PlatformIO, CMake.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{bench, skip};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcu");
const CORE: &str = "/usr/share/arduino/hardware/arduino/avr";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

/// The examples, by their directories.
fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(ROOT).join("examples")).unwrap();
    let mut examples: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    examples.sort();
    examples
}

/// Compiles as the Arduino IDE does: the sketch behind `Arduino.h`, with the core's headers and the library's `src`.
#[test]
fn every_example_compiles_under_the_arduino_core() {
    let Some(_compiler) = bench() else { return };
    if !Path::new(CORE).exists() {
        return skip("the Arduino core is not installed: apt install arduino-core-avr").unwrap_or_default();
    }
    let directory = tempfile::tempdir().unwrap();
    let boards = [("atmega328p", "standard"), ("atmega32u4", "leonardo"), ("atmega2560", "mega")];
    assert_eq!(examples().len(), 3);
    for example in examples() {
        let name = example.file_name().unwrap().to_str().unwrap().to_owned();
        let sketch = fs::read_to_string(example.join(format!("{name}.ino"))).unwrap();
        let source = directory.path().join(format!("{name}.cpp"));
        fs::write(&source, format!("#include <Arduino.h>\n{sketch}")).unwrap();
        for (mcu, variant) in boards {
            let mut command = Command::new("avr-g++");
            let flags = "-std=gnu++14 -Os -Wall -fno-exceptions -fno-threadsafe-statics -DARDUINO=10819 \
                         -DF_CPU=16000000L -DUSB_VID=1 -DUSB_PID=1 -c -o";
            command.args(flags.split_whitespace()).arg(directory.path().join("sketch.o")).arg(&source);
            command.arg(format!("-mmcu={mcu}")).arg(format!("-I{ROOT}/src"));
            for headers in ["cores/arduino".into(), format!("variants/{variant}")] {
                command.arg(format!("-I{CORE}/{headers}"));
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{name} for {mcu}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// The files required by the registries exist, and refer to existing files.
#[test]
fn the_manifests_name_what_there_is() {
    let properties = read("library.properties");
    let value = |key: &str| {
        let line = properties.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key}")).to_owned()
    };
    for key in ["author", "maintainer", "sentence", "paragraph"] {
        assert!(!value(key).is_empty(), "{key}");
    }
    assert_eq!((value("architectures").as_str(), value("category").as_str()), ("avr", "Timing"));
    let manifest: serde_json::Value = serde_json::from_str(&read("library.json")).unwrap();
    for key in ["name", "version"] {
        assert_eq!(manifest[key].as_str(), Some(value(key).as_str()));
    }
    let header = value("includes");
    assert_eq!(manifest["headers"].as_str(), Some(header.as_str()));
    let sources = manifest["build"]["srcDir"].as_str().unwrap();
    assert!(Path::new(ROOT).join(sources).join(header).exists());
    let named: Vec<&str> =
        manifest["examples"].as_array().unwrap().iter().map(|e| e["base"].as_str().unwrap()).collect();
    assert_eq!(named.len(), examples().len());
    for base in named {
        assert!(Path::new(ROOT).join(base).is_dir(), "{base}");
    }
}

#[test]
fn cmake_finds_the_headers() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return skip("cmake is not installed: apt install cmake").unwrap_or_default();
    }
    let directory = tempfile::tempdir().unwrap();
    let lists = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(user CXX)\nadd_subdirectory({ROOT} mcu)\n\
         add_library(user OBJECT user.cc)\ntarget_link_libraries(user PRIVATE jitterlab::mcu)\n"
    );
    fs::write(directory.path().join("CMakeLists.txt"), lists).unwrap();
    let program = "#include <mcu/arithmetic.h>\nstatic_assert(mcu::gcd(12, 18) == 6, \"\");\nint main() {}\n";
    fs::write(directory.path().join("user.cc"), program).unwrap();
    let build = directory.path().join("build");
    for arguments in
        [vec!["-S", directory.path().to_str().unwrap(), "-B"], vec!["--build"]].map(|mut arguments| {
            arguments.push(build.to_str().unwrap());
            arguments
        })
    {
        let output = Command::new("cmake").args(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Every file contains its licence.
#[test]
fn every_file_says_its_licence() {
    let mut open = vec![PathBuf::from(ROOT)];
    let mut seen = 0;
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.extend((!path.ends_with("build")).then_some(path));
            } else if path.extension().is_none_or(|ending| ending != "md") {
                let text = fs::read_to_string(&path).unwrap();
                let says = text.contains("SPDX-License-Identifier: MIT OR Apache-2.0")
                    || text.contains("\"license\": \"MIT OR Apache-2.0\"");
                assert!(says, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}
