import { MutualTls, type Settings } from '../../resources/index.ts'
import { implementModule, type RequestStep } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** Admits only clients with a certificate of one of these authorities; the handshake of all others fails. */
export const mutualTls = implementModule(MutualTls, {
  phase: 'tls',
  build({ certificate_authority_ids }: Settings<typeof MutualTls>, context: ModuleContext) {
    const clientAuthorities = context.readAuthorities(certificate_authority_ids)
    // The TLS library reads an empty list as the public authorities.
    if (clientAuthorities.length === 0) throw new ModuleConfigError('it names no certificate authority')
    return { clientAuthorities }
  },
})

/**
 * Passes the client identity to the upstream. The edge has already dropped fields of these names that a client sent. A
 * request without a verified certificate cannot get here; if one does, it is rejected rather than forwarded anonymously
 * (P34).
 */
export const clientIdentity: RequestStep = ({ connection, fields }) => {
  const peer = connection.tls?.peer
  if (peer === undefined) throw edgeError('module_broken', MutualTls.name)
  fields.add('adit-mtls-subject-cn', encodeHeaderText(peer.commonName))
  fields.add('adit-mtls-subject-alt-name-dns', peer.dnsNames.map(encodeHeaderText).join(','))
  fields.add('adit-mtls-email-addresses', peer.emailAddresses.map(encodeHeaderText).join(','))
  fields.add('adit-mtls-serial-number', encodeHeaderText(peer.serialNumber))
  return undefined
}

/**
 * Percent-encodes certificate text for a header field: everything but plain ASCII, and the comma that separates names.
 */
function encodeHeaderText(text: string): string {
  return text.replace(/[^\x20-\x7e]|[%,]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
      '',
    ),
  )
}
