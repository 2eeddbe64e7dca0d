import { type ForgedResponse, forgeResponse } from '../../../test/login/saml-forge.ts'
import { createSelfSigned } from '../../certs/index.ts'

/** A SAML identity provider without a server: its metadata, and the forms that browsers post for it. */
export async function createSamlProvider() {
  const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: 'idp.example' })
  const key = privateKeyPem.reveal()
  const certificate = certificatePem.replace(/-----[A-Z ]+-----|\s/g, '')
  const metadata = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:test:idp"><IDPSSODescriptor>
    <KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/></IDPSSODescriptor></EntityDescriptor>`

  /** The form with a response for a service provider. */
  const formFor = (entityId: string, relayState: string, response: Partial<ForgedResponse>): string => {
    const message = Buffer.from(forgeResponse({ key, acs: `${entityId}/acs`, entityId, ...response }))
    return new URLSearchParams({
      SAMLResponse: message.toString('base64'),
      RelayState: relayState,
    }).toString()
  }
  return { certificatePem, key, metadata, formFor }
}
