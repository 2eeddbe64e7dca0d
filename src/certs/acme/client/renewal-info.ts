import { X509Certificate as NodeCertificate } from 'node:crypto'
import { AuthorityKeyIdentifierExtension, X509Certificate } from '../../x509/asn1.ts'

/** The ARI identifier of a certificate (RFC 9773 section 4.1); undefined without an authority key identifier. */
export function renewalId(certificatePem: string): string | undefined {
  const keyId = new X509Certificate(firstBlock(certificatePem)).getExtension(
    AuthorityKeyIdentifierExtension,
  )?.keyId
  if (keyId === undefined) return undefined
  const { serialNumber } = new NodeCertificate(certificatePem)
  const hex = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`
  // As in DER: a leading zero byte keeps a serial with its top bit set positive.
  const serial = Number.parseInt(hex[0]!, 16) >= 8 ? `00${hex}` : hex
  return `${hexToBase64Url(keyId)}.${hexToBase64Url(serial)}`
}

function firstBlock(chainPem: string): string {
  return chainPem.slice(0, chainPem.indexOf('-----END') + '-----END CERTIFICATE-----'.length)
}

function hexToBase64Url(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url')
}
