import { mintToken, tokenDigest } from '../../auth/index.ts'
import { Secret } from '../../base/values/secret.ts'
import type { AuditEntry, DurableStore } from '../../store/index.ts'
import { generatePassword, type Passwords } from './passwords.ts'
import { createSignInStore, hashPassword } from './sign-in-store.ts'

/** Long enough to be used on another machine the same day. */
const LIFETIME_MS = 24 * 3_600_000

/**
 * Creates a one-time link with which a user sets a new password. It replaces the user's previous link; the password
 * stays until the link is used. The token is in the fragment, which browsers do not send, so that no log contains it.
 */
export async function createSignInLink(
  { store, passwords }: { store: DurableStore; passwords: Passwords },
  user: { readonly account: string; readonly id: string; readonly email: string },
  {
    dashboardUrl,
    now,
    audit,
    lifetimeMs = LIFETIME_MS,
  }: { dashboardUrl: string; now: number; audit: AuditEntry; lifetimeMs?: number },
): Promise<{ url: Secret; expiresAt: number }> {
  const token = mintToken(user.id)
  const link = { digest: tokenDigest(token.reveal()), expiresAt: now + lifetimeMs }
  // A record has a password; that of a user without one is random and never shown.
  const signIns = createSignInStore({ store })
  const unknownPassword = await hashPassword({ signIns, passwords }, user.email, generatePassword().reveal())
  await signIns.change(user, audit, (current) => ({
    ...(current ?? {
      userId: user.id,
      account: user.account,
      email: user.email,
      password: unknownPassword,
      secondFactor: undefined,
      pendingSecondFactor: undefined,
      usedStep: 0,
    }),
    link,
  }))
  const url = new Secret(`${dashboardUrl}#/set-password?token=${token.reveal()}`)
  return { url, expiresAt: link.expiresAt }
}
