// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// What the documents take as given: Scripts/check-documents compiles their blocks with this file.

package import FoundationEssentials
package import HTTPTypes
package import IdentityClient

package var app: PublicClientApplication { fatalError() }
package var account: Account { fatalError() }
package var cache: any TokenCache { fatalError() }
package var clientID: ClientID { fatalError() }
package var error: AuthenticationError { fatalError() }
package var scopes: Set<Scope> { [] }
package var url: URL { fatalError() }

package var configuration: ClientConfiguration {
    get { fatalError() }
    set {}
}
package var parameters: InteractiveParameters {
    get { fatalError() }
    set {}
}
package var request: HTTPRequest {
    get { fatalError() }
    set {}
}
package var result: AuthenticationResult {
    get { fatalError() }
    set {}
}

/// A widget with a text.
package struct Label {
    package var text: String?
}
package var label: Label {
    get { fatalError() }
    set {}
}

/// A widget that shows how far something is.
package struct Bar {
    package var fraction: Double?
}
package var bar: Bar {
    get { fatalError() }
    set {}
}

/// Shows something to the person.
package func show(_ things: Any?...) {}
