import { MutualTls, type Settings } from '../../resources/index.ts'
import { refusal } from '../errors.ts'
import { defineModule, type RequestStep } from '../module.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** Admits only clients that show a certificate of one of these authorities; the handshake fails for everyone else. */
export const mutualTls = defineModule(MutualTls, {
  phase: 'tls',
  build({ certificate_authority_ids }: Settings<typeof MutualTls>, context: ModuleContext) {
    const clientAuthorities = context.readAuthorities(certificate_authority_ids)
    // An empty list would mean the well-known authorities to the TLS library.
    if (clientAuthorities.length === 0) throw new ModuleConfigError('it names no certificate authority')
    return { clientAuthorities }
  },
})

/**
 * Tells the upstream who the client is. Fields of these names that a visitor sends never get this far. A request without
 * a checked certificate cannot arrive here; if it does, it is turned away and not passed on as nobody's (P34).
 */
export const clientIdentity: RequestStep = ({ connection, fields }) => {
  const peer = connection.tls?.peer
  if (peer === undefined) throw refusal('module_broken', MutualTls.name)
  fields.add('adit-mtls-subject-cn', encodeHeaderText(peer.commonName))
  fields.add('adit-mtls-subject-alt-name-dns', peer.dnsNames.map(encodeHeaderText).join(','))
  fields.add('adit-mtls-email-addresses', peer.emailAddresses.map(encodeHeaderText).join(','))
  fields.add('adit-mtls-serial-number', encodeHeaderText(peer.serialNumber))
  return undefined
}

/** Text from a certificate as a field can carry it: anything but plain ASCII, and the comma between names, encoded. */
function encodeHeaderText(text: string): string {
  return text.replace(/[^\x20-\x7e]|[%,]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(
      '',
    ),
  )
}
