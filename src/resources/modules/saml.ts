import { httpUrlOrNone } from '../formats.ts'
import { defineModule } from '../module.ts'
import { byService, choice, flag, secret, text } from '../value.ts'
import { groupRules } from './allow-rules.ts'
import { metadataError } from './idp-metadata.ts'
import { loginSession } from './login-session.ts'

/** The supported name identifier formats. */
const NAMEID_FORMATS = [
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
] as const

/** Requires clients to sign in at a SAML identity provider. */
export const Saml = defineModule(
  'saml',
  {
    ...loginSession,
    idp_metadata: text(262_144, (xml) => (xml === '' ? undefined : metadataError(xml))),
    idp_metadata_url: httpUrlOrNone(2048),
    force_authn: flag(false),
    allow_idp_initiated: flag(true),
    ...groupRules,
    nameid_format: choice(NAMEID_FORMATS, NAMEID_FORMATS[0]),
    entity_id: byService(text(2048)),
    assertion_consumer_service_url: byService(text(2048)),
    single_logout_url: byService(text(2048)),
    metadata_url: byService(text(2048)),
    request_signing_certificate_pem: byService(text(65_536)),
    request_signing_key_pem: byService(secret(text(65_536), 'redacted'), 'unseen'),
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
