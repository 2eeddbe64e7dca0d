import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  X509Certificate as NodeCertificate,
  randomBytes,
} from 'node:crypto'
import { isIP } from 'node:net'
import { Secret } from '../../base/values/secret.ts'
import { problem } from '../problem.ts'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from './asn1.ts'
import { writePem } from './pem.ts'

// The global one: dependencies that include browser types declare its types too, and only those are compatible.
const { subtle } = crypto
const DAY = 24 * 60 * 60 * 1000
// Machines with slightly slow clocks must accept a new certificate (P54).
export const BACKDATE_MS = 60 * 1000
const EARLIEST = new Date(0)
// RFC 5280 section 4.1.2.5: the date of a certificate without a well-defined expiry.
const NO_EXPIRY = new Date('9999-12-31T23:59:59Z')
const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
}

/** A certificate with its key, both as PEM. */
export interface KeyedCertificate {
  certificatePem: string
  privateKeyPem: Secret
}

/** The names and the lifetime of a server certificate. */
export interface LeafRequest {
  /** Host names; `*` is allowed as the complete first label. */
  names?: string[]
  ips?: string[]
  /** Default 90, at most the remaining lifetime of the authority. */
  days?: number
  now?: number
}

/** A private root that can sign server certificates. */
export interface Authority {
  readonly certificatePem: string
  readonly notBefore: Date
  readonly notAfter: Date
  issueLeaf(request: LeafRequest): Promise<KeyedCertificate & { notAfter: Date }>
}

/** A client certificate for a key that its holder keeps. */
export interface ClientRequest {
  publicKey: KeyObject
  commonName: string
  days: number
  now: number
}

/** An issued client certificate. */
export interface ClientCertificate {
  readonly certificatePem: string
  readonly notBefore: Date
  readonly notAfter: Date
}

/** An authority with its key at hand. */
export interface LoadedAuthority extends Authority {
  issueClient(request: ClientRequest): Promise<ClientCertificate>
}

/** Creates the platform's private root: ECDSA P-256, ten years, path length 0. */
export async function createAuthority(options: RootOptions = {}): Promise<KeyedCertificate> {
  return certifyRoot(await subtle.generateKey(EC, true, ['sign', 'verify']), options)
}

/**
 * Renews the root for another ten years. Its key and name stay, so that clients with either certificate trust everything
 * it has signed.
 */
export async function renewAuthority(
  { certificatePem, privateKeyPem }: KeyedCertificate,
  options: RootOptions = {},
): Promise<KeyedCertificate> {
  const pem = privateKeyPem.reveal()
  const [commonName] = new X509Certificate(certificatePem).subjectName.getField('CN')
  const publicKey = createPublicKey(pem).toCryptoKey(EC, true, ['verify']) as CryptoKey
  const privateKey = createPrivateKey(pem).toCryptoKey(EC, true, ['sign']) as CryptoKey
  return certifyRoot({ publicKey, privateKey }, { ...(commonName && { commonName }), ...options })
}

/** The name and lifetime of a root. */
export interface RootOptions {
  commonName?: string
  years?: number
  now?: number
}

async function certifyRoot(
  keys: { publicKey: CryptoKey; privateKey: CryptoKey },
  options: RootOptions,
): Promise<KeyedCertificate> {
  const { years = 10, now = Date.now() } = options
  const keyIdentifier = await SubjectKeyIdentifierExtension.create(keys.publicKey)
  // Stores of browsers find a root by its name, so two platforms on one machine need two.
  const commonName = options.commonName ?? `Adit private root ${keyIdentifier.keyId.slice(0, 8)}`
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: [commonName] }],
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + years * 365 * DAY),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      keyIdentifier,
    ],
  })
  return toKeyedCertificate(certificate, keys.privateKey)
}

/** Loads a root. Rejects a key that is not the root's: clients would not trust what it signs. */
export async function loadAuthority(material: KeyedCertificate): Promise<LoadedAuthority> {
  const root = new X509Certificate(material.certificatePem)
  const pem = material.privateKeyPem.reveal()
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
  const signingKey = await subtle.importKey('pkcs8', der, EC, false, ['sign'])
  await rejectForeignKey(root, signingKey)
  const certificatePem = writePem('CERTIFICATE', new Uint8Array(root.rawData))

  return {
    certificatePem,
    notBefore: root.notBefore,
    notAfter: root.notAfter,
    async issueLeaf({ names = [], ips = [], days = 90, now = Date.now() }) {
      const subjects = [...names.map(dnsName), ...ips.map(ipName)]
      if (subjects.length === 0) throw problem('names', 'bad_name', '')
      const keys = await subtle.generateKey(EC, true, ['sign', 'verify'])
      const notAfter = new Date(Math.min(now + days * DAY, root.notAfter.getTime()))
      // RFC 5280 allows 64 characters in a common name; the alternative names are what clients read.
      const commonName = subjects.find(({ value }) => value.length <= 64)?.value
      const leaf = await X509CertificateGenerator.create({
        serialNumber: newSerial(),
        subject: commonName === undefined ? [] : [{ CN: [commonName] }],
        issuer: root.subjectName,
        notBefore: new Date(now - BACKDATE_MS),
        notAfter,
        signingAlgorithm: EC,
        publicKey: keys.publicKey,
        signingKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
          // RFC 5280 section 4.2.1.6: with an empty subject the alternative names are critical.
          new SubjectAlternativeNameExtension(subjects, commonName === undefined),
          await SubjectKeyIdentifierExtension.create(keys.publicKey),
          await AuthorityKeyIdentifierExtension.create(root.publicKey),
        ],
      })
      return { ...(await toKeyedCertificate(leaf, keys.privateKey)), notAfter }
    },
    async issueClient({ publicKey, commonName, days, now }) {
      const certificate = await X509CertificateGenerator.create({
        serialNumber: newSerial(),
        subject: [{ CN: [commonName] }],
        issuer: root.subjectName,
        notBefore: new Date(now - BACKDATE_MS),
        notAfter: new Date(Math.min(now + days * DAY, root.notAfter.getTime())),
        signingAlgorithm: EC,
        publicKey: new PublicKey(publicKey.export({ type: 'spki', format: 'der' })),
        signingKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
          await AuthorityKeyIdentifierExtension.create(root.publicKey),
        ],
      })
      const { notBefore, notAfter } = certificate
      return {
        certificatePem: writePem('CERTIFICATE', new Uint8Array(certificate.rawData)),
        notBefore,
        notAfter,
      }
    },
  }
}

/** The name and validity of a self-signed certificate; by default it is always valid. */
export interface SelfSignedOptions {
  commonName: string
  notBefore?: Date
  notAfter?: Date
}

/**
 * Creates a self-signed RSA-2048 certificate that only carries a signing key, as SAML identity providers require. Its
 * dates do not depend on the clock, which may be wrong (decision 148).
 */
export async function createSelfSigned(options: SelfSignedOptions): Promise<KeyedCertificate> {
  return selfSign(await subtle.generateKey(RSA, true, ['sign', 'verify']), options)
}

/** Creates another certificate for the same key, so that peers that trust the key need no change. */
export async function renewSelfSigned(
  { privateKeyPem }: Pick<KeyedCertificate, 'privateKeyPem'>,
  options: SelfSignedOptions,
): Promise<KeyedCertificate> {
  const pem = privateKeyPem.reveal()
  const publicKey = createPublicKey(pem).toCryptoKey(RSA, true, ['verify']) as CryptoKey
  const privateKey = createPrivateKey(pem).toCryptoKey(RSA, true, ['sign']) as CryptoKey
  return selfSign({ publicKey, privateKey }, options)
}

async function selfSign(
  keys: { publicKey: CryptoKey; privateKey: CryptoKey },
  { commonName, notBefore = EARLIEST, notAfter = NO_EXPIRY }: SelfSignedOptions,
): Promise<KeyedCertificate> {
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: [commonName] }],
    notBefore,
    notAfter,
    signingAlgorithm: RSA,
    keys,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return toKeyedCertificate(certificate, keys.privateKey)
}

async function toKeyedCertificate(certificate: X509Certificate, key: CryptoKey): Promise<KeyedCertificate> {
  return {
    certificatePem: writePem('CERTIFICATE', new Uint8Array(certificate.rawData)),
    privateKeyPem: new Secret(writePem('PRIVATE KEY', new Uint8Array(await subtle.exportKey('pkcs8', key)))),
  }
}

async function rejectForeignKey(root: X509Certificate, key: CryptoKey): Promise<void> {
  const { publicKey } = new NodeCertificate(Buffer.from(root.rawData))
  const probe = randomBytes(32)
  const signature = await subtle.sign(EC, key, probe)
  const verifyKey = publicKey.toCryptoKey(EC, true, ['verify']) as CryptoKey
  if (!(await subtle.verify(EC, verifyKey, signature, probe)))
    throw problem('private_key_pem', 'key_mismatch')
}

/** Positive and 16 bytes: RFC 5280 allows 20, and public authorities must use at least 64 random bits. */
function newSerial(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

function dnsName(name: string): JsonGeneralName {
  const value = name.toLowerCase()
  const labels = value.split('.')
  if (labels[0] === '*') labels.shift()
  const valid = value.length <= 253 && labels.length > 0 && labels.every((label) => LABEL.test(label))
  if (!valid || isIP(value) !== 0) throw problem('names', 'bad_name', name)
  return { type: 'dns', value }
}

function ipName(ip: string): JsonGeneralName {
  if (isIP(ip) === 0 || ip.includes('%')) throw problem('names', 'bad_name', ip)
  return { type: 'ip', value: ip }
}
