/** All reasons to reject certificate or key material: a code for programs, a sentence for people. */
const MESSAGES = {
  empty: (what: string) => `The ${what} is empty. Paste its complete text.`,
  too_big: (what: string, limit: string) => `The ${what} is larger than ${limit}.`,
  not_pem: (what: string) =>
    `The ${what} is not PEM: it needs a line "-----BEGIN ...-----", base64 text and the matching END line.`,
  wrong_pem_type: (what: string, actual: string, expected: string) =>
    `The ${what} holds a PEM block of type ${actual}, but it must be ${expected}.`,
  pem_headers: (what: string) =>
    `The ${what} has PEM headers inside its block. Export it again without headers.`,
  several: (what: string, count: number) =>
    `The ${what} must hold exactly one block, but ${count} were found. Create one resource for each.`,
  too_many: (what: string, limit: number) => `The ${what} holds more than ${limit} certificates.`,
  private_key_inside: (what: string) =>
    `The ${what} contains a private key. Remove it, and consider that key as exposed.`,
  unparsable: (what: string) => `The ${what} cannot be parsed: its bytes are damaged.`,
  not_ca: () =>
    'The certificate is not a certificate authority: its Basic Constraints extension must say CA true.',
  swapped: () => 'The certificate and the private key are swapped: each was given in place of the other.',
  certificate_is_key: () => 'A private key was given in place of the certificate.',
  key_is_certificate: () => 'A certificate was given in place of the private key.',
  key_encrypted: () =>
    'The private key is encrypted. Decrypt it first, for example with "openssl pkey -in key.pem -out plain.pem".',
  key_unsupported: (found: string) =>
    `${found} is not supported. Use RSA with 2048 to 16384 bits, ECDSA on P-256, P-384 or P-521, or Ed25519.`,
  key_mismatch: () => 'The private key does not belong to the first certificate of the chain.',
  chain_broken: (position: number) =>
    `Certificate ${position} of the chain is not signed by the one after it. Put the leaf first and its issuers in order.`,
  unusable: (reason: string) => `No TLS server can serve this certificate: ${reason}.`,
  bad_name: (name: string) =>
    `"${name}" is neither a host name nor an address a certificate can be issued for.`,
  request_key: (found: string) =>
    `The certificate request is for ${found}, which is not supported. Use ECDSA on P-256, P-384 or P-521, or RSA with 2048 to 4096 bits.`,
  request_signature: () => 'The certificate request is not signed with its own key.',
  not_ssh_key: () =>
    'The public key is not in OpenSSH format. It is one line such as "ssh-ed25519 AAAA... comment", as in a .pub file.',
  ssh_options: () =>
    'The public key starts with authorized_keys options. Give the key alone, without options.',
  ssh_certificate_given: () => 'This is an SSH certificate. Give the plain public key, from the .pub file.',
  ssh_key_type: (type: string) =>
    `SSH keys of type ${type} are not supported. Use ssh-ed25519, ecdsa-sha2-nistp256/384/521 or ssh-rsa.`,
  ssh_key_weak: (bits: number) => `The RSA key has ${bits} bits, but at least 2048 are needed.`,
  ssh_key_large: (bits: number) => `The RSA key has ${bits} bits, but at most 16384 are accepted.`,
  authority_key_type: (type: string) => `"${type}" is not a key type. Use rsa, ecdsa or ed25519.`,
  authority_curve: (curve: string) => `"${curve}" is not a supported curve. Use p256, p384 or p521.`,
  authority_curve_misplaced: () => 'A curve can be chosen only for a key of type ecdsa.',
  authority_key_size: (size: number) => `${size} is not a supported RSA key size. Use 2048 or 4096.`,
  authority_key_size_misplaced: () => 'A key size can be chosen only for a key of type rsa.',
  validity: () => 'The end of the validity must be later than its start.',
  validity_range: () => 'A validity must lie between the years 1970 and 9999.',
  principal: (principal: string) =>
    `${JSON.stringify(principal)} is not a principal: it must have 1 to 255 bytes and no control characters.`,
  principals: (limit: number) => `A certificate can name at most ${limit} principals.`,
  critical_option: (name: string) =>
    `${JSON.stringify(name)} is not a critical option. Only force-command and source-address exist.`,
  force_command: () =>
    'force-command must be a command of 1 to 4096 bytes without control characters such as line ends.',
  source_address: (entry: string) =>
    `${JSON.stringify(entry)} is not valid in source-address. Give address ranges such as 192.0.2.0/24 separated by commas, without spaces and without bits set after the prefix.`,
  extension: (name: string) =>
    `${JSON.stringify(name)} is not an extension name: use letters, digits, ".", "_", "-" and "@", at most 100.`,
  extension_value: (name: string, rule: string) => `The value of the extension ${name} ${rule}.`,
  host_options: () => 'Host certificates carry neither critical options nor extensions.',
} satisfies Record<string, (...args: never[]) => string>

type Messages = typeof MESSAGES

/** The machine-readable codes of all problems. */
export type CertificateProblemCode = keyof Messages

/** The request fields that carry such material. */
export type MaterialField =
  | 'ca_pem'
  | 'certificate_pem'
  | 'private_key_pem'
  | 'public_key'
  | 'private_key_type'
  | 'elliptic_curve'
  | 'key_size'
  | 'principals'
  | 'critical_options'
  | 'extensions'
  | 'valid_until'
  | 'names'
  | 'binding.csr'

/** Rejected certificate or key material: the only error the parsers of this part throw for invalid input. */
export class CertificateProblem extends Error {
  readonly code: CertificateProblemCode
  readonly field: MaterialField

  constructor(code: CertificateProblemCode, field: MaterialField, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CertificateProblem'
    this.code = code
    this.field = field
  }
}

/** Creates a problem to throw; a wrong code or a missing argument does not compile. */
export function problem<Code extends CertificateProblemCode>(
  field: MaterialField,
  code: Code,
  ...args: Parameters<Messages[Code]>
): CertificateProblem {
  const format = MESSAGES[code] as (...args: unknown[]) => string
  return new CertificateProblem(code, field, format(...args))
}
