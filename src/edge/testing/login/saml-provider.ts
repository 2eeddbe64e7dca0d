import { type ForgedResponse, forgeResponse } from '../../../../test/login/saml-forge.ts'
import { createSelfSigned } from '../../../certs/index.ts'
import { HttpsRoute } from '../../../resources/index.ts'
import type { TestConfiguration } from '../configuration.ts'
import { IDP } from './login-page.ts'

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

  /** Adds the module to a route, with the fields the server generates. */
  const protect = (config: TestConfiguration, id: string, settings: Record<string, unknown> = {}): void => {
    config.update(id, { saml: { idp_metadata: metadata, ...settings } })
    const record = config.record(id)
    const entityId = `https://${IDP}/saml/${id}`
    const generated = {
      entity_id: entityId,
      assertion_consumer_service_url: `${entityId}/acs`,
      single_logout_url: `${entityId}/slo`,
      request_signing_certificate_pem: certificatePem,
      request_signing_key_pem: key,
    }
    config.write(HttpsRoute, id, { ...record, saml: { ...(record.saml as object), ...generated } })
  }
  return { certificatePem, key, metadata, formFor, protect }
}
