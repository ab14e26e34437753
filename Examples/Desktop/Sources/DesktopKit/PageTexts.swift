// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension RedirectPage.Texts {
    /// The texts of the final page in the browser, in the person's language if there is a translation.
    public static var translated: RedirectPage.Texts {
        // Translators replace this text with the tag of their language, for example `de`. If the library refuses the
        // tag, the page stays in English.
        guard var texts = try? RedirectPage.Texts(language: tr("en")) else { return RedirectPage.Texts() }
        texts.succeeded = Statement(title: tr("Signed in"), sentence: tr("The sign-in is complete."))
        texts.signedOut = Statement(title: tr("Signed out"), sentence: tr("The sign-out is complete."))
        texts.failed = Statement(title: tr("Not signed in"), sentence: tr("The sign-in did not succeed."))
        texts.ended = tr("{application} no longer waits for this sign-in. Please start again from there.")
        texts.refused = Statement(
            title: tr("Nothing to see here"),
            sentence: tr("The application does not wait for this sign-in.")
        )
        texts.advice = tr("You can close this tab and return to {application}.")
        texts.refusedAdvice = tr("If you were signing in, please start again from {application}.")
        texts.caution = tr("For your security, do not share this page or its address with anyone.")
        return texts
    }

    /// The texts of the final page after an administrator was asked to allow the program.
    static var ofAdministrators: RedirectPage.Texts {
        var texts = translated
        texts.succeeded = Statement(title: tr("Allowed"), sentence: tr("The program may be used now."))
        texts.failed = Statement(title: tr("Not allowed"), sentence: tr("The program was not allowed."))
        return texts
    }
}
