import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { Secret } from '../base/secret.ts'
import { newSshSerial, parseSshPublicKey, signSshCertificate } from '../certs/index.ts'
import { type HostIdentity, makeHostKeys, openHostIdentity, publicHostKeys } from '../sessions/index.ts'
import type { Row, Store } from '../store/index.ts'
import { keepFresh } from './auto-renew.ts'
import { BadSetting } from './settings.ts'

const KEYS = 'ssh.host_keys'
const AUTHORITIES = 'ssh_certificate_authorities'
const DAY_MS = 24 * 60 * 60 * 1000
const VALID_MS = 30 * DAY_MS

/** Clocks of clients may be behind ours. */
const BACKDATE_MS = 5 * 60 * 1000

export interface SshHostIdentityOptions {
  store: Store
  clock: Clock
  log: Logger
  /** The id of the SSH authority that certifies the host key, if any. */
  authorityId: string | undefined
  /** Every name and address clients may dial. */
  hosts: readonly string[]
}

/**
 * The SSH gateway's host keys, kept sealed in the store so that every node has the same. With an authority the
 * Ed25519 key also has a certificate, signed at the start and anew every day.
 */
export async function openSshHostIdentity(
  options: SshHostIdentityOptions,
): Promise<{ identity: HostIdentity; stop(): void }> {
  const { store, authorityId, clock, log } = options
  const pem = new Secret(await hostKeys(store))
  if (authorityId === undefined) return { identity: openHostIdentity(pem), stop() {} }

  const certificate = await keepFresh({
    make: (now) => certify(options, pem, authorityId, now),
    renewAfterMs: DAY_MS,
    clock,
    log,
    what: 'SSH host certificate',
  })
  return { identity: openHostIdentity(pem, certificate.current), stop: certificate.stop }
}

async function hostKeys(store: Store): Promise<string> {
  const known = await store.setting(KEYS)
  if (known !== undefined) return known
  await store.putSetting(KEYS, makeHostKeys(), { secret: true })
  // Read back: of two nodes that start at the same moment both have to use what was kept.
  return (await store.setting(KEYS))!
}

async function certify(
  options: SshHostIdentityOptions,
  pem: Secret,
  authorityId: string,
  now: number,
): Promise<Buffer> {
  const authority = await findAuthority(options.store, authorityId)
  if (authority === undefined)
    throw new BadSetting(
      `--ssh-host-ca is "${authorityId}", and there is no SSH certificate authority with that id.`,
    )
  const text = await signSshCertificate({
    kind: 'host',
    publicKey: parseSshPublicKey(publicHostKeys(pem)[0]!),
    authorityKey: new Secret(authority.secrets?.private_key ?? ''),
    serial: newSshSerial(),
    id: 'adit-ssh-gateway',
    principals: [...options.hosts],
    validAfter: now - BACKDATE_MS,
    validUntil: now + VALID_MS,
  })
  return Buffer.from(text.split(' ')[1]!, 'base64')
}

async function findAuthority({ lastKnown }: Store, id: string): Promise<Row | undefined> {
  for (let after: string | undefined; ; ) {
    const rows = await lastKnown.scan(AUTHORITIES, { limit: 100, after })
    const found = rows.find((row) => row.id === id)
    if (found !== undefined || rows.length < 100) return found
    after = rows.at(-1)!.id
  }
}
