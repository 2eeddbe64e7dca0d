import { hash } from 'node:crypto'
import type { AuditEntry, Draft, Row, Store } from '../../store/index.ts'
import type { Passwords } from './passwords.ts'

/** Rows with the sign-in credentials of users. They have no public resource and are deleted with their user. */
const KIND = 'user_sign_ins'
// One person may have users in several accounts, but not in many.
const MAX_ACCOUNTS = 8

/** How one user signs in. The secrets are sealed at rest. */
export interface SignInRecord {
  readonly userId: string
  readonly account: string
  readonly email: string
  /** The hash, as `Passwords.hash` returns it. */
  readonly password: string
  /** The shared secret of the second factor, if enabled. */
  readonly secondFactor: string | undefined
  /** A second factor that is not confirmed yet. */
  readonly pendingSecondFactor: string | undefined
  /** The last time step whose code was used; no code is accepted twice. */
  readonly usedStep: number
  /** Digests of the codes that replace the second factor, each once. */
  readonly recoveryCodes?: readonly string[] | undefined
  /** The one-time link with which the user may set a new password. */
  readonly link?: SignInLink | undefined
}

/** A one-time link; its token is not stored. */
export interface SignInLink {
  readonly digest: string
  readonly expiresAt: number
}

/** The store of sign-in records. */
export interface SignInStore {
  findByUser(account: string, userId: string): Promise<SignInRecord | undefined>
  /** The users with this email address, which is unique only within an account. */
  findByEmail(email: string): Promise<SignInRecord[]>
  /** The user whose one-time link has this digest, expired or not. */
  findByLink(digest: string): Promise<SignInRecord | undefined>
  /**
   * Changes a record and audits it in one transaction. `change` receives the stored record; if it returns undefined,
   * nothing is changed or audited. Which of several actions it was, `change` may say with the record.
   */
  change(
    user: { readonly account: string; readonly id: string },
    audit: AuditEntry,
    change: (
      current: SignInRecord | undefined,
      setAction: (action: string) => void,
    ) => SignInRecord | undefined,
  ): Promise<SignInRecord | undefined>
}

/** The id of a record: its user's id with another prefix. */
function recordId(userId: string): string {
  return `usi_${userId.slice(userId.indexOf('_') + 1)}`
}

function emailPrefix(email: string): string {
  return `${hash('sha256', email.toLowerCase())}/`
}

function toSignIn({ account, data, secrets }: Row): SignInRecord {
  return {
    userId: data.user_id as string,
    account,
    email: data.email as string,
    password: secrets?.password ?? '',
    secondFactor: secrets?.second_factor,
    pendingSecondFactor: secrets?.offered,
    usedStep: data.used_step as number,
    recoveryCodes: data.recovery_codes as string[] | undefined,
    link: data.link as SignInLink | undefined,
  }
}

function draftOf(signIn: SignInRecord): Draft {
  const {
    userId,
    account,
    email,
    password,
    secondFactor,
    pendingSecondFactor,
    usedStep,
    recoveryCodes,
    link,
  } = signIn
  return {
    kind: KIND,
    id: recordId(userId),
    account,
    data: {
      user_id: userId,
      email,
      used_step: usedStep,
      ...(recoveryCodes !== undefined && { recovery_codes: recoveryCodes }),
      ...(link !== undefined && { link }),
    },
    secrets: {
      password,
      ...(secondFactor !== undefined && { second_factor: secondFactor }),
      ...(pendingSecondFactor !== undefined && { offered: pendingSecondFactor }),
    },
    claims: [
      { scope: 'sign_in_email', name: `${emailPrefix(email)}${userId}` },
      ...(link === undefined ? [] : [{ scope: 'sign_in_link', name: link.digest }]),
    ],
    references: [{ field: 'user_id', target: userId, onDelete: 'cascade' }],
  }
}

export function createSignInStore({ store }: { store: Store }): SignInStore {
  async function read(reader: Pick<Store, 'get'>, account: string, userId: string) {
    const row = await reader.get(KIND, account, recordId(userId))
    return row && toSignIn(row)
  }

  return {
    findByUser: (account, userId) => read(store, account, userId),
    async findByEmail(email) {
      const holders = await store.holdersWithPrefix('sign_in_email', emailPrefix(email), MAX_ACCOUNTS)
      const rows = await Promise.all(holders.map(({ account, id }) => store.get(KIND, account, id)))
      return rows.flatMap((row) => (row === undefined ? [] : [toSignIn(row)]))
    },
    async findByLink(digest) {
      const holder = await store.holder('sign_in_link', digest)
      const row = holder && (await store.get(KIND, holder.account, holder.id))
      return row && toSignIn(row)
    },
    change: ({ account, id }, audit, change) =>
      store.write({ principal: audit.principal, credential: audit.credential }, async (tx) => {
        const current = await read(tx, account, id)
        let { action } = audit
        const next = change(current, (actual) => {
          action = actual
        })
        if (next === undefined) return undefined
        if (current === undefined) await tx.insert(draftOf(next))
        else await tx.update(draftOf(next))
        await tx.audit({ ...audit, action })
        return next
      }),
  }
}

/** Hashes a new password of a user with this address; all users of an address share a salt (decision 149). */
export async function hashPassword(
  { signIns, passwords }: { signIns: SignInStore; passwords: Passwords },
  email: string,
  password: string,
): Promise<string> {
  const users = await signIns.findByEmail(email)
  return passwords.hash(
    password,
    users.map((user) => user.password),
  )
}
