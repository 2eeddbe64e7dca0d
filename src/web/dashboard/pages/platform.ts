import { useApi } from '../kit/index.ts'

/** Addresses and settings of the platform. */
export interface Platform {
  readonly domain: string
  readonly http_url: string | null
  readonly https_url: string | null
  readonly tcp_host: string
  readonly agent_addr: string | null
  readonly ssh_addr: string | null
  readonly acme: boolean
  readonly ca_pem: string
}

/** The platform that serves this page. */
export function usePlatform(): Platform | undefined {
  return useApi<Platform>('/dashboard/api/platform').value
}

/** The https URL of a host name, with the port if it is not the default. */
export function httpsUrlOf(host: string, platform: Platform | undefined): string {
  const port = platform?.https_url ? new URL(platform.https_url).port : ''
  return `https://${host}${port === '' ? '' : `:${port}`}`
}
