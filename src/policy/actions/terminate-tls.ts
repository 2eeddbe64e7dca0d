import { createPrivateKey, X509Certificate } from 'node:crypto'
import { pemBlocks } from '../../base/text/pem-blocks.ts'
import { Environment, listOf as listType, STRING } from '../../cel/index.ts'
import { type ConfigField, choice, described, listOf, object, optional, strictTemplate } from '../config.ts'
import { connectionFunctions } from '../functions/index.ts'
import type { Template } from '../template.ts'
import { tlsFields } from '../variables/conn.ts'
import { defineAction } from './define.ts'

const MAX_PEM_LENGTH = 65_536
const MAX_AUTHORITIES = 20

/** Before a handshake nothing is known of a client, but secrets can be read. */
const BEFORE_HANDSHAKE = new Environment({ variables: {}, functions: connectionFunctions })

/** A text in PEM whose `${}` may read secrets alone. */
function pem(check: (text: string) => string | undefined): ConfigField<Template> {
  const field = strictTemplate({
    minLength: 1,
    maxLength: MAX_PEM_LENGTH,
    maxResultLength: MAX_PEM_LENGTH,
    check,
  })
  return {
    ...field,
    read: (value, context) => field.read(value, { ...context, environment: BEFORE_HANDSHAKE }),
  }
}

const canParse = (parse: () => unknown, fault: string) => {
  try {
    parse()
    return undefined
  } catch {
    return fault
  }
}

const checkCertificate = (value: string) =>
  canParse(() => new X509Certificate(value), 'it is not a certificate in PEM')

const checkAuthority = (value: string) =>
  value.startsWith('ca_')
    ? undefined
    : (pemBlocks(value, 'CERTIFICATE').map(checkCertificate)[0] ??
      (pemBlocks(value, 'CERTIFICATE').length > 0
        ? undefined
        : 'it is neither a certificate in PEM nor the id of a certificate authority'))

/** A list, or its only entry as it is: the name of the field in older configurations of agents took one text. */
function listOrOne<T>(item: ConfigField<T>, limits: Parameters<typeof listOf>[1]): ConfigField<T[]> {
  const list = listOf(item, limits)
  return {
    ...list,
    read: (value, context) => list.read(typeof value === 'string' ? [value] : value, context),
  }
}

const VERSIONS = ['1.2', '1.3'] as const

export const terminateTls = defineAction({
  type: 'terminate-tls',
  description:
    'Terminates TLS with these settings. TLS endpoints pass TLS through without it; https endpoints terminate it in any case.',
  example: {
    min_version: '1.3',
    server_certificate: "${secrets.get('tls', 'certificate')}",
    server_private_key: "${secrets.get('tls', 'key')}",
  },
  phases: ['on_tcp_connect'],
  protocols: ['https', 'tls'],
  appliesToAll: true,
  config: object(
    {
      min_version: described(optional(choice(...VERSIONS)), 'the lowest version of TLS'),
      max_version: described(optional(choice(...VERSIONS)), 'the highest version of TLS'),
      server_certificate: described(
        optional(pem(checkCertificate)),
        'the certificate to present, with its chain, instead of the one of the server',
      ),
      server_private_key: described(
        optional(pem((value) => canParse(() => createPrivateKey(value), 'it is not a private key in PEM'))),
        'the private key of server_certificate',
      ),
      mutual_tls_certificate_authorities: described(
        optional(
          listOrOne(pem(checkAuthority), {
            minItems: 1,
            maxItems: MAX_AUTHORITIES,
          }),
        ),
        'who may issue the certificates of clients: certificates in PEM or ids of certificate authorities',
      ),
      mutual_tls_verification_strategy: described(
        optional(choice('require-and-verify', 'require-any', 'request')),
        'whether clients need a certificate, and whether it is verified; the default is require-and-verify where there are authorities',
      ),
    },
    (config, context) => {
      const { min_version = '1.2', max_version = '1.3' } = config
      if (min_version > max_version)
        context.child('min_version').report('wrong_type', 'it must not be higher than max_version')
      const { server_certificate: certificate, server_private_key: key } = config
      if ((certificate === undefined) !== (key === undefined))
        context.report('incomplete_certificate', 'server_certificate and server_private_key belong together')
      if (certificate?.literal !== undefined && key?.literal !== undefined)
        if (!new X509Certificate(certificate.literal).checkPrivateKey(createPrivateKey(key.literal)))
          context.child('server_private_key').report('wrong_type', 'it is not the key of server_certificate')
      if (
        config.mutual_tls_verification_strategy === 'require-and-verify' &&
        config.mutual_tls_certificate_authorities === undefined
      )
        context.report(
          'incomplete_certificate',
          'require-and-verify needs mutual_tls_certificate_authorities',
        )
    },
  ),
  results: {
    ...Object.fromEntries(Object.entries(tlsFields).map(([name, { type }]) => [name, type])),
    warnings: listType(STRING),
  },
})
