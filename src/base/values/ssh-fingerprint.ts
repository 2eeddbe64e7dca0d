import { createHash } from 'node:crypto'

/** The fingerprint of a key's wire form, as ssh-keygen prints it. */
export function sshFingerprint(blob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`
}

/** The fingerprint of a public key on one line, as in a `.pub` file. */
export function publicKeyFingerprint(line: string): string {
  const [, base64 = ''] = line.trim().split(/[ \t]+/)
  return sshFingerprint(Buffer.from(base64, 'base64'))
}
