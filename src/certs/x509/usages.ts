import { ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension, type X509Certificate } from './asn1.ts'

// In the order of the bits in RFC 5280 section 4.2.1.3, which is the order they are shown in.
const KEY_USAGES: [KeyUsageFlags, string][] = [
  [KeyUsageFlags.digitalSignature, 'digital_signature'],
  [KeyUsageFlags.nonRepudiation, 'content_commitment'],
  [KeyUsageFlags.keyEncipherment, 'key_encipherment'],
  [KeyUsageFlags.dataEncipherment, 'data_encipherment'],
  [KeyUsageFlags.keyAgreement, 'key_agreement'],
  [KeyUsageFlags.keyCertSign, 'cert_sign'],
  [KeyUsageFlags.cRLSign, 'crl_sign'],
  [KeyUsageFlags.encipherOnly, 'encipher_only'],
  [KeyUsageFlags.decipherOnly, 'decipher_only'],
]

const EXTENDED_KEY_USAGES: Record<string, string> = {
  '2.5.29.37.0': 'any',
  '1.3.6.1.5.5.7.3.1': 'server_auth',
  '1.3.6.1.5.5.7.3.2': 'client_auth',
  '1.3.6.1.5.5.7.3.3': 'code_signing',
  '1.3.6.1.5.5.7.3.4': 'email_protection',
  '1.3.6.1.5.5.7.3.5': 'ipsec_end_system',
  '1.3.6.1.5.5.7.3.6': 'ipsec_tunnel',
  '1.3.6.1.5.5.7.3.7': 'ipsec_user',
  '1.3.6.1.5.5.7.3.8': 'time_stamping',
  '1.3.6.1.5.5.7.3.9': 'ocsp_signing',
  '1.3.6.1.4.1.311.10.3.3': 'microsoft_server_gated_crypto',
  '2.16.840.1.113730.4.1': 'netscape_server_gated_crypto',
}

/** What the key of a certificate may be used for; empty when the certificate does not say. */
export function keyUsagesOf(certificate: X509Certificate): string[] {
  const flags = certificate.getExtension(KeyUsagesExtension)?.usages ?? 0
  return KEY_USAGES.filter(([flag]) => (flags & flag) !== 0).map(([, name]) => name)
}

/** The extended uses of a certificate's key; one without a common name is shown as its object identifier. */
export function extendedKeyUsagesOf(certificate: X509Certificate): string[] {
  const usages = certificate.getExtension(ExtendedKeyUsageExtension)?.usages ?? []
  // Array.from, since the library's list is a class of its own and would stay one through map.
  return Array.from(usages, (oid) => EXTENDED_KEY_USAGES[String(oid)] ?? String(oid))
}
