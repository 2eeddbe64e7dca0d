import type { PlatformInfo } from '../../../dashboard/page-data.ts'
import { type LoadState, useApi } from '../kit/index.ts'

export type { PlatformInfo }

/** The platform that serves this page. */
export function usePlatform(): PlatformInfo | undefined {
  return useLoadedPlatform().value
}

export const useLoadedPlatform = (): LoadState<PlatformInfo> => useApi('/dashboard/api/platform')

/** The https URL of a host name, with the port if it is not the default. */
export function httpsUrlOf(host: string, platform: PlatformInfo | undefined): string {
  const port = platform?.https_url ? new URL(platform.https_url).port : ''
  return `https://${host}${port === '' ? '' : `:${port}`}`
}
