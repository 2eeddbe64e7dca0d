import { isSecurityKey } from './security-key.ts'

/** Elliptic curves only; `startSshServer` adds strict key exchange. */
export const KEX = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
] as const

/**
 * Authenticated ciphers, or encrypt-then-MAC. ChaCha20 is excluded: OpenSSH would prefer it, and in this runtime it costs
 * twice as much as AES, which every client supports too (decision 64).
 */
const CIPHERS = [
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'aes128-ctr',
  'aes192-ctr',
  'aes256-ctr',
] as const

/**
 * The ciphers to offer a client that supports these. The client's order decides, and OpenSSH puts AES-CTR first, which
 * with its MAC costs three times as much here as AES-GCM: a client that supports AES-GCM is offered nothing else (decision 74).
 */
export function selectCiphers(listed: readonly string[]): readonly string[] {
  const preferred = CIPHERS.filter((cipher) => cipher.includes('-gcm@') && listed.includes(cipher))
  return preferred.length > 0 ? preferred : CIPHERS
}

export const MACS = ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'] as const

/** Key types a client may log in with. RSA needs a SHA-2 signature: `hash` is undefined for SHA-1. */
export function isKeyAccepted(algorithm: string, hash: string | undefined): boolean {
  if (algorithm === 'ssh-rsa') return hash === 'sha256' || hash === 'sha512'
  return (
    algorithm === 'ssh-ed25519' ||
    isSecurityKey(algorithm) ||
    /^ecdsa-sha2-nistp(256|384|521)$/.test(algorithm)
  )
}
