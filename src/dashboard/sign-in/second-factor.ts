import { TOTP, Secret as TotpSecret } from 'otpauth'

const PERIOD_SECONDS = 30
// Codes of the adjacent steps are accepted too: clocks differ, and typing takes time.
const STEP_WINDOW = 1

/** Creates a TOTP secret, with the URI for its QR code. */
export function createSecondFactor(email: string, host: string): { secret: string; uri: string } {
  const secret = new TotpSecret({ size: 20 }).base32
  return { secret, uri: createTotp(secret, email, `Adit ${host}`).toString() }
}

/** The time step of a valid code; undefined if the code is wrong, or a code of that or a later step was used. */
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
  // Every app supports SHA-1, and its collisions do not affect HMAC.
  return new TOTP({
    issuer,
    label,
    secret: TotpSecret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
  })
}
