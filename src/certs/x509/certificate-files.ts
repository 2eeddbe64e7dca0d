import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { CommandFailure } from '../../base/process/command-line.ts'
import type { Logger } from '../../base/process/log.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import { CertificateProblem } from '../problem.ts'
import type { ServedCertificate } from './served-certificate.ts'
import { readTlsCertificate } from './x509.ts'

const CHECK_INTERVAL_MS = 2000
const DAY_MS = 24 * 60 * 60 * 1000
/** Within this time before its end, a certificate is reported as about to expire. */
export const EXPIRY_WARNING_MS = 21 * DAY_MS

/** The paths of `--tls-cert` and `--tls-key`. */
export interface CertificatePaths {
  readonly certFile: string
  readonly keyFile: string
}

/** The operator's certificate for the platform's domain, and for the names one label below it. */
export interface FileCertificate extends ServedCertificate {
  /** Which of the platform's domain and its wildcard the certificate is for. */
  readonly names: readonly string[]
  readonly notAfter: number
}

/** Reads both files. Throws a `CommandFailure` unless they belong together and cover the names below the domain. */
export async function readCertificateFiles(
  paths: CertificatePaths,
  domain: string,
): Promise<FileCertificate> {
  return parseFiles(paths, domain, await readFiles(paths))
}

interface FileContents {
  readonly certPem: string
  readonly keyPem: string
  /** Equal for equal contents. */
  readonly version: string
}

async function readFiles({ certFile, keyFile }: CertificatePaths): Promise<FileContents> {
  const [certPem, keyPem] = await Promise.all([readText('tls-cert', certFile), readText('tls-key', keyFile)])
  const digest = createHash('sha256').update(certPem).update(keyPem).digest('hex')
  return { certPem, keyPem, version: `file-${digest}` }
}

async function readText(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CommandFailure(`--${flag}: ${file} cannot be read: ${errorMessage(error)}`)
  }
}

function parseFiles(
  { certFile, keyFile }: CertificatePaths,
  domain: string,
  { certPem, keyPem, version }: FileContents,
): FileCertificate {
  try {
    const details = readTlsCertificate(certPem, keyPem)
    const covered = details.subject_alternative_names.dns_names.map((name) => name.toLowerCase())
    const names = [domain, `*.${domain}`].filter((name) => covered.includes(name))
    if (!names.includes(`*.${domain}`))
      throw new CommandFailure(
        `--tls-cert: the certificate in ${certFile} is for ${covered.join(', ') || 'no DNS name'}. It has to be for *.${domain}, and should be for ${domain} too.`,
      )
    return {
      names,
      notAfter: Date.parse(details.not_after),
      certPem: details.certificate_pem,
      keyPem,
      version,
    }
  } catch (error) {
    if (!(error instanceof CertificateProblem)) throw error
    const [flag, file] = error.field === 'private_key_pem' ? ['tls-key', keyFile] : ['tls-cert', certFile]
    throw new CommandFailure(`--${flag} ${file}: ${error.message}`)
  }
}

/** The certificate files of a running server: read again when they change, with warnings before they expire. */
export class CertificateFiles {
  readonly #paths: CertificatePaths
  readonly #domain: string
  readonly #clock: Clock
  readonly #log: Logger
  #current: FileCertificate
  #timer: NodeJS.Timeout | undefined
  /** The reason why the files are not used; each is logged once. */
  #rejection: string | undefined
  #warnedAt = Number.NEGATIVE_INFINITY

  /** Fails when the files cannot be served, so that the server does not start without its certificate. */
  static async open(options: {
    paths: CertificatePaths
    domain: string
    clock: Clock
    log: Logger
  }): Promise<CertificateFiles> {
    return new CertificateFiles(options, await readCertificateFiles(options.paths, options.domain))
  }

  private constructor(
    { paths, domain, clock, log }: { paths: CertificatePaths; domain: string; clock: Clock; log: Logger },
    current: FileCertificate,
  ) {
    this.#paths = paths
    this.#domain = domain
    this.#clock = clock
    this.#log = log
    this.#current = current
  }

  get current(): FileCertificate {
    return this.#current
  }

  start(): void {
    this.#warnBeforeExpiry()
    this.#timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /**
   * Serves what the files hold now. Compares their content, because certificate tools replace files, directories or
   * symbolic links. Files that cannot be served, such as a new certificate whose key is not written yet, change nothing.
   */
  async check(): Promise<void> {
    const { certFile } = this.#paths
    try {
      const contents = await readFiles(this.#paths)
      if (contents.version !== this.#current.version) {
        const next = parseFiles(this.#paths, this.#domain, contents)
        this.#current = next
        this.#warnedAt = Number.NEGATIVE_INFINITY
        this.#log.info({ certFile, expiresAt: new Date(next.notAfter) }, 'certificate files reloaded')
      }
      this.#rejection = undefined
    } catch (error) {
      const reason = errorMessage(error)
      if (reason !== this.#rejection)
        this.#log.error({ certFile, reason }, 'certificate files rejected, previous certificate still served')
      this.#rejection = reason
    }
    this.#warnBeforeExpiry()
  }

  /** Warns once a day. */
  #warnBeforeExpiry(): void {
    const { notAfter } = this.#current
    const now = this.#clock.now()
    if (now < notAfter - EXPIRY_WARNING_MS || now < this.#warnedAt + DAY_MS) return
    this.#warnedAt = now
    const fields = { certFile: this.#paths.certFile, expiresAt: new Date(notAfter) }
    if (now < notAfter) this.#log.warn(fields, 'certificate files expire soon')
    else this.#log.error(fields, 'certificate files expired')
  }
}
