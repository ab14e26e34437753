// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

/// Paths that one server reads as below another path, and the next server as above it.
@Suite struct PathTests {
    @Test(arguments: [
        "/bob/../alice", "/bob/./alice", "/bob/..", "/bob/.", "..", "/bob/.../alice", "/bob/..;/alice",
        "/bob/..;x=y/alice",
        "/bob/.;/alice", "/bob/..%2falice", "/bob/%2e%2e/alice", "/bob/%2E%2e%2Falice", "/bob/.%2e/alice",
        "/bob/..%5calice",
        "/bob/..%5Calice", "/bob/..\\alice", "/bob/x\\..\\alice", "/bob/%252e%252e/alice", "/bob/a%252fb",
        "/bob/..%00/alice",
        "/bob/..%09", "/bob/%0a../alice", "/bob/%1f../alice", "/bob/..\u{9}/alice", "/bob/..\u{0}", "/bob/..%20/alice",
        "/bob/.. /alice",
        "/bob/..%c0%af", "/bob/%c0%ae%C0%ae/alice", "/bob/%c1%9c", "/bob/%u002e%u002e/alice", "/bob/..%3b/alice",
        "/bob/..-/alice",
        "/bob/..#", "/bob/..?", "/bob/..\u{E9}", "/bob/%7f../alice", "/bob/\u{7F}../alice",
    ])
    func areDoubtful(path: String) {
        #expect(PercentEncoding.isDoubtfulPath(path))
    }

    @Test(arguments: [
        "", "/", "//", "/a//b/", "/bob/a.b", "/bob/.git/HEAD", "/.well-known/x", "/bob/..x/y", "/bob/...2", "/bob/a..",
        "/bob/a;b=c",
        "/bob/caf%C3%A9/%20/100%/x", "/bob/\u{E9}", "/bob/My Project", "/bob/%3B%40", "/bob/~!$&'()*+,=:@-_",
    ])
    func areNot(path: String) {
        #expect(!PercentEncoding.isDoubtfulPath(path))
    }
}
