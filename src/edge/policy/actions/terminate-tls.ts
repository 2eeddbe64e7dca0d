import { createPrivateKey, X509Certificate } from 'node:crypto'
import { errorMessage } from '../../../base/text/error-message.ts'
import { readTls } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import type { TlsSettings } from '../../contracts/tls-policy.ts'
import { readAuthorities } from '../../modules/authorities.ts'
import type { PolicyContext, ReadTlsSettings } from '../context.ts'
import { ConnectionExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'

type Config = Parameters<Implementation<'terminate-tls'>['on_tcp_connect']>[0]

/** Stands for the client while there is none: expressions of these settings cannot read it. */
const NO_CLIENT = {
  scheme: 'tls',
  remoteAddress: '',
  remotePort: 0,
  localAddress: '',
  localPort: 0,
  serverName: undefined,
  tlsPolicy: undefined,
  tls: undefined,
  startedAt: 0,
} as const

/** The texts that the settings are made from, as they are now. */
function textReader(
  { server_certificate, server_private_key, mutual_tls_certificate_authorities: authorities = [] }: Config,
  context: PolicyContext,
): () => readonly string[] {
  const readAuthority = (id: string): string => {
    const pem = id.startsWith('ca_') ? context.readAuthority(id) : id
    if (pem === undefined) throw new PolicyFailure(`the certificate authority ${id} is missing`)
    return pem
  }
  return () => {
    const execution = new ConnectionExecution(context, NO_CLIENT, () => undefined)
    return [
      server_certificate?.evaluate(execution) ?? '',
      server_private_key?.evaluate(execution) ?? '',
      ...authorities.map((authority) => readAuthority(authority.evaluate(execution))),
    ]
  }
}

function createSettings(
  config: Config,
  [cert = '', key = '', ...authorities]: readonly string[],
): TlsSettings {
  const { min_version, max_version, mutual_tls_verification_strategy: strategy } = config
  if (cert !== '') requireKeyPair(cert, key)
  return {
    ...(min_version && { minVersion: `TLSv${min_version}` }),
    ...(max_version && { maxVersion: `TLSv${max_version}` }),
    ...(strategy && strategy !== 'require-and-verify' && { clientVerification: strategy }),
    ...(cert !== '' && { certificate: { certificatePem: cert, privateKeyPem: key } }),
    ...(authorities.length > 0 && { clientAuthorities: authorities.flatMap(parseAuthorities) }),
  }
}

/** A secret may hold anything. */
function parseAuthorities(pem: string): string[] {
  try {
    return readAuthorities(pem)
  } catch (error) {
    throw new PolicyFailure(errorMessage(error))
  }
}

function requireKeyPair(cert: string, key: string): void {
  let fits = false
  try {
    fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    // Either cannot be read.
  }
  if (!fits) throw new PolicyFailure('server_certificate and server_private_key cannot be used together')
}

/** Reads the settings of the moment, and makes them again when a text they are made from has changed. */
function settingsReader(config: Config, context: PolicyContext): ReadTlsSettings {
  const readTexts = textReader(config, context)
  let last: { readonly texts: readonly string[]; readonly settings: TlsSettings } | undefined
  return () => {
    const texts = readTexts()
    if (last === undefined || texts.some((text, index) => text !== last?.texts[index]))
      last = { texts, settings: createSettings(config, texts) }
    return last.settings
  }
}

export const terminateTls: Implementation<'terminate-tls'> = {
  on_tcp_connect(config, context) {
    const readSettings = settingsReader(config, context)
    context.terminations.push(readSettings)
    return ({ conn: { tls }, results }) => {
      // Nothing is admitted while the settings lack something.
      readSettings()
      if (tls !== undefined) results.terminate_tls = { ...readTls(tls), warnings: [] }
      return undefined
    }
  },
}
