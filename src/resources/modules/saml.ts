import { httpUrlOrNone } from '../schema/formats.ts'
import { defineModule } from '../schema/module.ts'
import { byService, choice, described, flag, name, secret, text } from '../schema/value.ts'
import { groupRules } from './allow-rules.ts'
import { metadataError } from './idp-metadata.ts'
import { loginSession } from './login-session.ts'

/** The supported name identifier formats. */
export const NAMEID_FORMATS = [
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
] as const

/** The URLs of a service provider, which identity providers know it by. */
export interface SamlUrls {
  readonly entity_id: string
  readonly metadata_url: string
  readonly assertion_consumer_service_url: string
  readonly single_logout_url: string
}

/** The URLs of the service provider of a route, or of the host of an endpoint. */
export function samlUrls(idpUrl: string, name: string): SamlUrls {
  const url = `${idpUrl}/saml/${name}`
  return {
    entity_id: url,
    metadata_url: url,
    assertion_consumer_service_url: `${url}/acs`,
    single_logout_url: `${url}/slo`,
  }
}

/** Requires clients to sign in at a SAML identity provider. */
export const Saml = defineModule(
  'saml',
  'Requires visitors to sign in at a SAML identity provider.',
  {
    ...loginSession,
    idp_metadata: described(
      text(262_144, (xml) => (xml === '' ? undefined : metadataError(xml))),
      'The metadata XML of the identity provider, if it is not published at a URL.',
    ),
    idp_metadata_url: described(
      httpUrlOrNone(2048),
      'The URL at which the identity provider publishes its metadata.',
      'https://idp.example.com/metadata',
    ),
    force_authn: described(flag(false), 'Requires visitors to enter their password at every sign-in.'),
    allow_idp_initiated: described(flag(true), 'Accepts sign-ins that start at the identity provider.'),
    ...groupRules,
    nameid_format: described(
      choice(NAMEID_FORMATS, NAMEID_FORMATS[0]),
      'The format of the name that the identity provider sends.',
    ),
    email_attribute: described(
      name(256),
      'The attribute that contains the email address; empty for the usual ones.',
      'urn:oid:0.9.2342.19200300.100.1.3',
    ),
    name_attribute: described(
      name(256),
      'The attribute that contains the name; empty for the usual ones.',
      'displayName',
    ),
    groups_attribute: described(
      name(256),
      'The attribute that contains the groups; empty for the usual ones.',
      'urn:oid:1.3.6.1.4.1.5923.1.5.1.1',
    ),
    entity_id: described(byService(text(2048)), 'The entity ID of this service provider.'),
    assertion_consumer_service_url: described(
      byService(text(2048)),
      'The URL to which the identity provider sends its responses.',
    ),
    single_logout_url: described(byService(text(2048)), 'The URL for single logout.'),
    metadata_url: described(byService(text(2048)), 'The URL of the metadata of this service provider.'),
    request_signing_certificate_pem: described(
      byService(text(65_536)),
      'The certificate with which requests to the identity provider are signed.',
    ),
    request_signing_key_pem: described(
      byService(secret(text(65_536), 'redacted'), 'unseen'),
      'The private key of that certificate.',
    ),
  },
  {
    rule({ idp_metadata, idp_metadata_url }) {
      if (idp_metadata !== '' && idp_metadata_url !== '')
        return { field: 'idp_metadata_url', message: 'give either it or idp_metadata, not both.' }
      if (idp_metadata === '' && idp_metadata_url === '')
        return {
          field: 'idp_metadata',
          message: 'it or idp_metadata_url is required: the identity provider has to be known.',
        }
      return undefined
    },
  },
)
