import { createPublicKey, type KeyObject } from 'node:crypto'
import { problem } from '../problem.ts'
import { Pkcs10CertificateRequest } from './asn1.ts'
import { FIELD_NAMES, readPem } from './pem.ts'

const FIELD = 'binding.csr'
const MAX_CSR_BYTES = 16 * 1024
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']
const RSA_BITS = { min: 2048, max: 4096 }

/** Parses a certificate request (RFC 2986) and returns its key, which the request proves to hold by its signature. */
export async function readCertificateRequest(pem: string): Promise<KeyObject> {
  const what = FIELD_NAMES[FIELD]
  const blocks = readPem(pem, FIELD, MAX_CSR_BYTES)
  const [block] = blocks
  const wrong = blocks.find(({ type }) => type !== 'CERTIFICATE REQUEST')
  if (wrong) throw problem(FIELD, 'wrong_pem_type', what, wrong.type, 'CERTIFICATE REQUEST')
  if (block === undefined || blocks.length > 1) throw problem(FIELD, 'several', what, blocks.length)
  if (block.headers.length > 0) throw problem(FIELD, 'pem_headers', what)
  const { key, request } = parse(block.der)
  requireStrongKey(key)
  // An algorithm that the library does not know throws.
  if (!(await request.verify().catch(() => false))) throw problem(FIELD, 'request_signature')
  return key
}

function parse(der: Buffer): { key: KeyObject; request: Pkcs10CertificateRequest } {
  try {
    const request = new Pkcs10CertificateRequest(new Uint8Array(der))
    const key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' })
    return { key, request }
  } catch {
    throw problem(FIELD, 'unparsable', FIELD_NAMES[FIELD])
  }
}

function requireStrongKey({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): void {
  const { modulusLength = 0, namedCurve = 'unnamed' } = details
  if (type === 'ec') {
    if (CURVES.includes(namedCurve)) return
    throw problem(FIELD, 'request_key', `an ECDSA key on the curve ${namedCurve}`)
  }
  if (type !== 'rsa') throw problem(FIELD, 'request_key', `a key of type ${type}`)
  if (modulusLength < RSA_BITS.min || modulusLength > RSA_BITS.max)
    throw problem(FIELD, 'request_key', `an RSA key of ${modulusLength} bits`)
}
