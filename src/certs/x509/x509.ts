import { createPrivateKey, type KeyObject, X509Certificate as NodeCertificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { formatTimestamp } from '../../base/values/clock.ts'
import { CertificateProblem, problem } from '../problem.ts'
import { BasicConstraintsExtension, SubjectAlternativeNameExtension, X509Certificate } from './asn1.ts'
import { FIELD_NAMES, type PemBlock, type PemField, readPem, writePem } from './pem.ts'
import { extendedKeyUsagesOf, keyUsagesOf } from './usages.ts'

const MAX_PEM_BYTES = 64 * 1024
const MAX_CHAIN = 20

/** The fields of an uploaded certificate authority in the API. */
export interface CertificateAuthorityDetails {
  ca_pem: string
  subject_common_name: string
  not_before: string
  not_after: string
  key_usages: string[]
  extended_key_usages: string[]
}

/** The key types of certificates in the API. */
export type PrivateKeyType = 'rsa' | 'ecdsa' | 'ed25519'

/** The fields of a TLS certificate in the API. */
export interface TlsCertificateDetails {
  certificate_pem: string
  subject_common_name: string
  subject_organization: string
  subject_organizational_unit: string
  subject_locality: string
  subject_province: string
  subject_country: string
  subject_alternative_names: { dns_names: string[]; ips: string[] }
  issuer_common_name: string
  not_before: string
  not_after: string
  key_usages: string[]
  extended_key_usages: string[]
  private_key_type: PrivateKeyType
  serial_number: string
}

/** A certificate parsed twice: one parser reads the extensions, the other is OpenSSL, which will serve it. */
interface ParsedCertificate {
  asn: X509Certificate
  node: NodeCertificate
}

/** Parses one uploaded certificate authority. An expired one is accepted: it admits no client. */
export function readCertificateAuthority(pem: string): CertificateAuthorityDetails {
  const field = 'ca_pem'
  const blocks = readPem(pem, field, MAX_PEM_BYTES)
  if (blocks.some(isPrivateKey)) throw problem(field, 'private_key_inside', FIELD_NAMES[field])
  const wrong = blocks.find((block) => block.type !== 'CERTIFICATE')
  if (wrong) throw problem(field, 'wrong_pem_type', FIELD_NAMES[field], wrong.type, 'CERTIFICATE')
  if (blocks.length > 1) throw problem(field, 'several', FIELD_NAMES[field], blocks.length)
  const { asn } = parseCertificate(blocks[0]!, field)

  return withParseErrors(field, () => {
    if (!asn.getExtension(BasicConstraintsExtension)?.ca) throw problem(field, 'not_ca')
    return {
      ca_pem: writePem('CERTIFICATE', blocks[0]!.der),
      subject_common_name: nameOf(asn, 'CN'),
      not_before: formatTimestamp(asn.notBefore.getTime()),
      not_after: formatTimestamp(asn.notAfter.getTime()),
      key_usages: keyUsagesOf(asn),
      extended_key_usages: extendedKeyUsagesOf(asn),
    }
  })
}

/** Parses an uploaded chain, leaf first, with the leaf's key, and verifies that a TLS server can serve them. */
export function readTlsCertificate(certificatePem: string, privateKeyPem: string): TlsCertificateDetails {
  const field = 'certificate_pem'
  const blocks = readPem(certificatePem, field, MAX_PEM_BYTES)
  const keyBlocks = readPem(privateKeyPem, 'private_key_pem', MAX_PEM_BYTES)
  rejectSwapped(blocks, keyBlocks)
  if (blocks.some(isPrivateKey)) throw problem(field, 'private_key_inside', FIELD_NAMES[field])
  const wrong = blocks.find((block) => block.type !== 'CERTIFICATE')
  if (wrong) throw problem(field, 'wrong_pem_type', FIELD_NAMES[field], wrong.type, 'CERTIFICATE')
  if (blocks.length > MAX_CHAIN) throw problem(field, 'too_many', FIELD_NAMES[field], MAX_CHAIN)

  const chain = blocks.map((block) => parseCertificate(block, field))
  const leaf = chain[0]!
  const key = parsePrivateKey(keyBlocks)
  const keyType = keyTypeOf(key)
  return withParseErrors(field, () => {
    if (!leaf.node.checkPrivateKey(key)) throw problem('private_key_pem', 'key_mismatch')
    rejectBrokenChain(chain.map((certificate) => certificate.node))
    const pem = blocks.map((block) => writePem('CERTIFICATE', block.der)).join('')
    rejectUnusable(pem, key)
    return { ...leafDetails(leaf), certificate_pem: pem, private_key_type: keyType }
  })
}

function leafDetails({
  asn,
  node,
}: ParsedCertificate): Omit<TlsCertificateDetails, 'certificate_pem' | 'private_key_type'> {
  const names = asn.getExtension(SubjectAlternativeNameExtension)?.names.items ?? []
  const serial = node.serialNumber.toLowerCase()
  return {
    subject_common_name: nameOf(asn, 'CN'),
    subject_organization: nameOf(asn, 'O'),
    subject_organizational_unit: nameOf(asn, 'OU'),
    subject_locality: nameOf(asn, 'L'),
    subject_province: nameOf(asn, 'ST'),
    subject_country: nameOf(asn, 'C'),
    subject_alternative_names: {
      dns_names: names.filter((name) => name.type === 'dns').map((name) => requirePrintable(name.value)),
      ips: names.filter((name) => name.type === 'ip').map((name) => canonicalAddress(name.value)),
    },
    issuer_common_name: requirePrintable(asn.issuerName.getField('CN').at(-1) ?? ''),
    not_before: formatTimestamp(asn.notBefore.getTime()),
    not_after: formatTimestamp(asn.notAfter.getTime()),
    key_usages: keyUsagesOf(asn),
    extended_key_usages: extendedKeyUsagesOf(asn),
    serial_number: serial.length % 2 === 0 ? serial : `0${serial}`,
  }
}

function parseCertificate(block: PemBlock, field: PemField): ParsedCertificate {
  if (block.headers.length > 0) throw problem(field, 'pem_headers', FIELD_NAMES[field])
  return withParseErrors(field, () => {
    const node = new NodeCertificate(block.der)
    // Parsers silently drop bytes after the certificate; what is served would differ from the upload.
    if (node.raw.length !== block.der.length) throw problem(field, 'unparsable', FIELD_NAMES[field])
    return { node, asn: new X509Certificate(new Uint8Array(block.der)) }
  })
}

function parsePrivateKey(allBlocks: PemBlock[]): KeyObject {
  const field = 'private_key_pem'
  // "openssl ecparam -genkey" writes the curve as a separate block above the key, which repeats it.
  const blocks = allBlocks.filter((block) => block.type !== 'EC PARAMETERS')
  const block = blocks[0] ?? allBlocks[0]!
  if (block.type === 'ENCRYPTED PRIVATE KEY' || block.headers.some((line) => line.includes('ENCRYPTED')))
    throw problem(field, 'key_encrypted')
  const format = KEY_FORMATS[block.type]
  if (format === undefined)
    throw problem(
      field,
      'wrong_pem_type',
      FIELD_NAMES[field],
      block.type,
      Object.keys(KEY_FORMATS).join(', '),
    )
  if (blocks.length > 1) throw problem(field, 'several', FIELD_NAMES[field], blocks.length)
  if (block.headers.length > 0) throw problem(field, 'pem_headers', FIELD_NAMES[field])
  return withParseErrors(field, () => createPrivateKey({ key: block.der, format: 'der', type: format }))
}

const KEY_FORMATS: Record<string, 'pkcs1' | 'pkcs8' | 'sec1'> = {
  'PRIVATE KEY': 'pkcs8',
  'RSA PRIVATE KEY': 'pkcs1',
  'EC PRIVATE KEY': 'sec1',
}

const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

function keyTypeOf(key: KeyObject): PrivateKeyType {
  const { modulusLength = 0, namedCurve = 'unnamed' } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength >= 2048 && modulusLength <= 16384) return 'rsa'
      throw problem('private_key_pem', 'key_unsupported', `An RSA key of ${modulusLength} bits`)
    case 'ec':
      if (CURVES.includes(namedCurve)) return 'ecdsa'
      throw problem('private_key_pem', 'key_unsupported', `An ECDSA key on the curve ${namedCurve}`)
    case 'ed25519':
      return 'ed25519'
    default:
      throw problem('private_key_pem', 'key_unsupported', `A key of type ${key.asymmetricKeyType}`)
  }
}

function rejectSwapped(certificates: PemBlock[], keys: PemBlock[]): void {
  const keyFirst = certificates.every((block) => isPrivateKey(block) || block.type === 'EC PARAMETERS')
  const certificateFirst = keys.every((block) => block.type === 'CERTIFICATE')
  if (keyFirst && certificateFirst) throw problem('certificate_pem', 'swapped')
  if (keyFirst) throw problem('certificate_pem', 'certificate_is_key')
  if (certificateFirst) throw problem('private_key_pem', 'key_is_certificate')
}

function rejectBrokenChain(chain: NodeCertificate[]): void {
  for (const [index, certificate] of chain.slice(0, -1).entries()) {
    const issuer = chain[index + 1]!
    const signed = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
    if (!signed) throw problem('certificate_pem', 'chain_broken', index + 1)
  }
}

/** OpenSSL rejects weak signatures and invalid combinations on loading; find out now, not in the first handshake. */
function rejectUnusable(cert: string, key: KeyObject): void {
  try {
    createSecureContext({ cert, key: key.export({ type: 'pkcs8', format: 'pem' }) })
  } catch (error) {
    const reason =
      error instanceof Error && 'reason' in error ? String(error.reason) : 'OpenSSL rejects it on loading'
    throw problem('certificate_pem', 'unusable', reason)
  }
}

function isPrivateKey(block: PemBlock): boolean {
  return block.type.endsWith('PRIVATE KEY')
}

function nameOf(certificate: X509Certificate, attribute: string): string {
  return requirePrintable(certificate.subjectName.getField(attribute).at(-1) ?? '')
}

/** Rejects control characters: they can spoof names in logs and pages, and PostgreSQL cannot store a NUL. */
function requirePrintable(text: string): string {
  if (/[\u0000-\u001f\u007f]/.test(text)) throw new RangeError('control character in a name')
  return text
}

function canonicalAddress(address: string): string {
  return address.includes(':') ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address
}

/** Turns any parser error into the problem `unparsable`. */
function withParseErrors<T>(field: PemField, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof CertificateProblem) throw error
    throw problem(field, 'unparsable', FIELD_NAMES[field])
  }
}
