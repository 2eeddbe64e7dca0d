import { Type } from 'typebox'
import { httpUrl } from '../formats.ts'
import { defineModule } from '../module.ts'
import { defineEndpointOption } from '../option.ts'
import { described, list, nonEmpty, required, secret, text } from '../value.ts'
import { claimRules, emailRules, groupRules } from './allow-rules.ts'
import {
  allowError,
  allowFlags,
  decodeLogin,
  type LoginOption,
  loginFields,
  loginSession,
} from './login-session.ts'

/** Requires clients to sign in at an OpenID provider. */
export const Oidc = defineModule(
  'oidc',
  'Requires visitors to sign in at an OpenID Connect provider.',
  {
    ...loginSession,
    issuer: described(
      required(httpUrl(255)),
      'The URL of the provider, such as https://login.example.com.',
      'https://login.example.com',
    ),
    client_id: described(
      required(nonEmpty(1024)),
      'The ID of this application at the provider.',
      'your client ID',
    ),
    client_secret: described(
      required(secret(nonEmpty(4096), 'shown')),
      'The secret of this application at the provider.',
      'your client secret',
    ),
    scopes: described(
      list(text(255), { maxItems: 50 }),
      'The scopes to request. OpenID Connect always requests openid.',
    ),
    ...emailRules,
    email_domains: { ...emailRules.email_domains, example: ['example.com'] },
    ...groupRules,
    ...claimRules,
  },
  {
    endpoint: defineEndpointOption({
      name: 'oidc',
      field: 'OIDC',
      key: 'oidc',
      ssh: false,
      wire: Type.Object({ issuer_url: Type.String(), client_id: Type.String(), ...loginFields }),
      flags: [
        { name: 'oidc', field: 'issuer_url', help: 'ask visitors to log in with this OpenID issuer' },
        { name: 'oidc-client-id', field: 'client_id', help: 'client id at the issuer' },
        { name: 'oidc-client-secret', field: 'client_secret', help: 'client secret at the issuer' },
        ...allowFlags('oidc'),
        {
          name: 'oidc-scope',
          field: 'scopes',
          commaSeparated: true,
          help: 'scopes to request from the issuer',
        },
      ],
      check: ({ issuer_url, client_id, client_secret, ...fields }) =>
        issuer_url && client_id && client_secret
          ? allowError('oidc', fields)
          : '"oidc" needs "issuer_url", "client_id" and "client_secret"',
      decode: (field): { readonly issuerUrl: string } & LoginOption => ({
        issuerUrl: field.issuer_url,
        ...decodeLogin(field),
      }),
      settings: ({ issuerUrl, clientId, clientSecret, scopes, ...allow }) => ({
        issuer: issuerUrl,
        client_id: clientId,
        client_secret: clientSecret,
        scopes: [...scopes],
        email_addresses: [...allow.allowEmails],
        email_domains: [...allow.allowDomains],
        authorized_groups: [...allow.allowGroups],
        authorized_claims: [...allow.allowClaims],
      }),
    }),
  },
)
