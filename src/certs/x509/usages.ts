import { ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension, type X509Certificate } from './asn1.ts'

// In the bit order of RFC 5280 section 4.2.1.3, which is the display order.
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

/** The key usages of a certificate; empty when it has no such extension. */
export function keyUsagesOf(certificate: X509Certificate): string[] {
  const flags = certificate.getExtension(KeyUsagesExtension)?.usages ?? 0
  return KEY_USAGES.filter(([flag]) => (flags & flag) !== 0).map(([, name]) => name)
}

/** The extended key usages of a certificate; unknown ones as their object identifier. */
export function extendedKeyUsagesOf(certificate: X509Certificate): string[] {
  const usages = certificate.getExtension(ExtendedKeyUsageExtension)?.usages ?? []
  // Array.from, because the library's list is a subclass of Array and `map` would keep it one.
  return Array.from(usages, (oid) => EXTENDED_KEY_USAGES[String(oid)] ?? String(oid))
}
