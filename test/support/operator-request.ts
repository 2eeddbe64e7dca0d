import type { webcrypto } from 'node:crypto'
import { Pkcs10CertificateRequestGenerator } from '../../src/certs/x509/asn1.ts'
import { writePem } from '../../src/certs/x509/pem.ts'

/** The key of the official Kubernetes operator. */
export const OPERATOR_KEY = { name: 'ECDSA', namedCurve: 'P-256' }

/** A certificate request with its key, as the official Kubernetes operator makes them. */
export async function createOperatorRequest(
  algorithm: webcrypto.EcKeyGenParams | webcrypto.RsaHashedKeyGenParams = OPERATOR_KEY,
): Promise<{ csr: string; key: string }> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const signingAlgorithm = { ...algorithm, hash: 'SHA-512' }
  const request = await Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    csr: writePem('CERTIFICATE REQUEST', new Uint8Array(request.rawData)),
    key: writePem('PRIVATE KEY', new Uint8Array(pkcs8)),
  }
}
