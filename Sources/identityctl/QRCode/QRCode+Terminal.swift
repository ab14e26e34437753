// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension QRCode {
    /// The light frame that readers need.
    private static let margin = 4

    /// Columns that the drawing takes on a terminal.
    var columns: Int { size + 2 * Self.margin }

    /// Returns the code for a terminal: two rows of modules to a line, light on black in any color scheme.
    ///
    /// - Parameter isColored: Whether colors may be set. Otherwise the code has the terminal's own colors, and is light
    ///   on dark only if the terminal is.
    func terminalLines(isColored: Bool = true) -> [String] {
        let range = -Self.margin..<size + Self.margin
        return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            let blocks = range.map { column in
                switch (self[row, column], self[row + 1, column]) {
                case (false, false): "█"
                case (false, true): "▀"
                case (true, false): "▄"
                case (true, true): " "
                }
            }
            return isColored ? "\u{1B}[40;97m" + blocks.joined() + "\u{1B}[0m" : blocks.joined()
        }
    }
}
