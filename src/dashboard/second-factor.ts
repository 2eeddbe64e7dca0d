import { TOTP, Secret as TotpSecret } from 'otpauth'

const PERIOD_SECONDS = 30
// A code of the step before or after counts too: clocks differ, and typing takes time.
const STEP_WINDOW = 1

/** A new secret for a device that shows codes, with the address that hands it over as a picture. */
export function createSecondFactor(email: string, host: string): { secret: string; uri: string } {
  const secret = new TotpSecret({ size: 20 }).base32
  return { secret, uri: createTotp(secret, email, `Adit ${host}`).toString() }
}

/** The time step whose code this is, if it is a right one and no code since that step was used before. */
export function verifyCode(
  secret: string,
  code: string,
  { now, usedStep }: { now: number; usedStep: number },
): number | undefined {
  const delta = createTotp(secret).validate({
    token: code.replace(/\s/g, ''),
    timestamp: now,
    window: STEP_WINDOW,
  })
  if (delta === null) return undefined
  const step = Math.floor(now / 1000 / PERIOD_SECONDS) + delta
  return step > usedStep ? step : undefined
}

function createTotp(secret: string, label = '', issuer = ''): TOTP {
  // What every app understands: SHA-1 in HMAC is not what its collisions are about.
  return new TOTP({
    issuer,
    label,
    secret: TotpSecret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
  })
}
