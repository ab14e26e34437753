// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SystemSupport

@Suite struct ProgramBundleTests {
    @Test(
        arguments: [
            ([:], []),
            (["APPDIR": "/tmp/.mount_notes"], ["/tmp/.mount_notes"]),
            (["APPDIR": "/tmp/.mount_notes//"], ["/tmp/.mount_notes"]),
            // A variable that someone set by hand, without an AppImage.
            (["APPDIR": "/srv/app"], []),
            (["APPDIR": "relative"], []), (["APPDIR": "/"], []), (["APPDIR": ""], []),
            (["SNAP": "/snap/notes/1", "SNAP_NAME": "notes", "SNAP_REVISION": "1"], ["/snap/notes/1"]),
            (["SNAP": "/snap/notes/1"], []),
        ] as [([String: String], [String])]
    )
    func knowsWhereTheBundleIs(_ variables: [String: String], _ expected: [String]) {
        let files = ["/tmp/.mount_notes/AppRun", "relative/AppRun", "/AppRun"]
        #expect(ProgramBundle.roots(variables, exists: files.contains) == expected)
    }

    @Test(arguments: [
        ("LD_LIBRARY_PATH", "/b/usr/lib:/usr/lib:/b/lib", "/usr/lib"),
        ("LD_LIBRARY_PATH", "/b/usr/lib", nil),
        // The remaining empty entry of `$APPDIR/usr/lib:$LD_LIBRARY_PATH` would mean the current directory.
        ("LD_LIBRARY_PATH", "/b/usr/lib:", nil),
        ("PATH", "/b:/b/usr/bin:/usr/bin:/bin", "/usr/bin:/bin"),
        ("XDG_DATA_DIRS", "/b/usr/share:/usr/share", "/usr/share"),
        ("GIO_EXTRA_MODULES", "/b/usr/lib/gio/modules", nil),
        ("LD_PRELOAD", "/b/usr/lib/libhook.so /usr/lib/libjemalloc.so", "/usr/lib/libjemalloc.so"),
        ("LD_PRELOAD", "/usr/lib/libone.so /usr/lib/libtwo.so", "/usr/lib/libone.so /usr/lib/libtwo.so"),
        ("PATH", "/bin::/b2/bin", "/bin::/b2/bin"),
        ("NOTE", "see /b/usr", "see /b/usr"),
        ("APPDIR", "/b", "/b"),
        ("SNAP", "/b", "/b"),
    ])
    func leavesOutWhatIsInTheBundle(_ name: String, _ value: String, _ expected: String?) {
        #expect(ProgramBundle.environment([name: value], outside: ["/b"])[name] == expected)
        #expect(ProgramBundle.environment([name: value], outside: [])[name] == value)
    }
}
