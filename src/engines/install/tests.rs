//! The installer with a script instead of the npm client.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::*;

const PACKAGE: Package = Package {
    engine: "Testengine",
    stem: "test",
    manifest: "{}",
    lock: r#"{"packages": {"node_modules/@scope/test": {"version": "1.2.3", "integrity": "sha512-x", "optional": true}}}"#,
    name: Some("@scope/test"),
    files: &["native/bin/server"],
    bytes: 10,
};

/// An installer whose client runs `script` in the staging folder.
fn installer(folder: &Path, script: &str) -> Installer {
    let npm = folder.join("npm");
    let cache = folder.join("cache");
    fs::create_dir_all(&cache).unwrap();
    fs::write(
        &npm,
        format!("#!/bin/sh\necho run >> {}\n{script}\n", folder.join("runs").display()),
    )
    .unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    Installer { cache, npm }
}

fn runs(folder: &Path) -> usize {
    fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
}

const GOOD: &str = "
umask 077
mkdir -p node_modules/@scope/test/native/bin node_modules/@scope/test/native/lib
echo program > node_modules/@scope/test/native/bin/server
chmod 700 node_modules/@scope/test/native/bin/server
echo lib > node_modules/@scope/test/native/lib/a.so.1
echo '[{\"source\":\"native/lib/a.so.1\",\"target\":\"native/lib/a.so\"}]' > node_modules/@scope/test/native/pg-symlinks.json
";

#[test]
fn concurrent_installers_install_a_package_once() {
    let folder = tempfile::tempdir().unwrap();
    let installer = installer(folder.path(), GOOD);
    let installed: Vec<PathBuf> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| installer.install(&PACKAGE).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(installed.iter().all(|path| path == &installed[0]));
    assert_eq!(runs(folder.path()), 1);
    let mode =
        |path: &str| fs::metadata(installed[0].join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("native/bin/server"), 0o755, "every user may run it, whatever the umask");
    assert_eq!(mode("native/lib/a.so.1"), 0o644);
    assert_eq!(fs::read_to_string(installed[0].join("native/lib/a.so")).unwrap(), "lib\n");
    let left: Vec<_> = fs::read_dir(folder.path().join("cache"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".staging"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_damaged_installation_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let installer = installer(folder.path(), GOOD);
    let home = installer.install(&PACKAGE).unwrap();
    fs::write(home.join("native/bin/server"), "").unwrap();
    installer.install(&PACKAGE).unwrap();
    assert_eq!(fs::read_to_string(home.join("native/bin/server")).unwrap(), "program\n");
    assert_eq!(runs(folder.path()), 2);
}

#[test]
fn the_clients_errors_are_reported() {
    let cases = [
        ("echo 'npm error code EINTEGRITY' >&2; exit 1", "EINTEGRITY"),
        ("exit 0", "holds no native/bin/server"),
        ("grep -q '\"optional\"' package-lock.json && exit 0; echo 'npm error code MUSTHAVE'; exit 1", "MUSTHAVE"),
        (
            "mkdir -p node_modules/@scope/test/native/bin; touch node_modules/@scope/test/native/bin/server
             echo '[{\"source\":\"../../x\",\"target\":\"native/y\"}]' > node_modules/@scope/test/native/pg-symlinks.json",
            "out of the package",
        ),
    ];
    for (script, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let refusal = installer(folder.path(), script).install(&PACKAGE).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{refusal}");
        assert!(!folder.path().join("cache").join(PACKAGE.folder()).exists());
    }
}

#[test]
fn a_missing_client_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let installer =
        Installer { cache: folder.path().to_owned(), npm: folder.path().join("absent") };
    let refusal = installer.install(&PACKAGE).unwrap_err().to_string();
    assert!(refusal.contains("npm") && refusal.contains("not found"), "{refusal}");
}

#[test]
fn the_lock_files_hold_hashes_and_no_addresses() {
    for package in [CLICKHOUSE, POSTGRES] {
        let lock: serde_json::Value = serde_json::from_str(package.lock).unwrap();
        let entries = lock["packages"].as_object().unwrap();
        for (name, entry) in entries.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(entry["integrity"].as_str().unwrap().starts_with("sha512-"), "{name}");
            assert!(entry.get("resolved").is_none(), "{name}");
        }
        if let Some(name) = package.name {
            assert!(entries.contains_key(&format!("node_modules/{name}")), "{name}");
        }
        assert!(!package.lock.contains("://"), "{}", package.engine);
    }
}
