import type { Seal } from './seal.ts'

interface Scoped {
  readonly scopeId: string
}

/** Inside a seal the scope keeps its first name, so that sessions and pending sign-ins outlive an upgrade. */
interface Sealed {
  readonly place: string
}

/** Seals a value that is valid in one scope. */
export function encryptScoped(seal: Seal, purpose: string, { scopeId, ...rest }: Scoped): string {
  return seal.encrypt(purpose, { ...rest, place: scopeId } satisfies Sealed)
}

/** Opens what `encryptScoped` has sealed. */
export function decryptScoped<T>(seal: Seal, purpose: string, text: string): (T & Scoped) | undefined {
  const value = seal.decrypt<T & Sealed>(purpose, text)
  return value && { ...value, scopeId: value.place }
}
