import type { MultiPolygon, Polygon, Position } from 'geojson'
import { feature } from 'topojson-client'
import atlas from 'world-atlas/countries-110m.json'
import type { VisitorCountries } from '../../../../dashboard/page-data.ts'
import { countryName } from './country-name.ts'

/** Degrees, from the west of Alaska to the east of Siberia and from the north of Greenland to the south of Chile. */
const [WEST, EAST, NORTH, SOUTH] = [-170, 191, 84, -57]
/** The opacity of a country with few visitors, so that it still differs from one without. */
const MIN_SHADE = 0.25

interface Country {
  readonly code: string
  readonly path: string
}

const COUNTRIES = readCountries(atlas)

/** A map in which countries are the darker, the more connections come from them. The table beside it has the figures. */
export default function WorldMap({ countries }: VisitorCountries) {
  const counts = new Map(countries.map(({ country, connections }) => [country, connections]))
  const most = Math.max(...COUNTRIES.map(({ code }) => counts.get(code) ?? 0))
  return (
    <svg
      className="world-map"
      viewBox={`${WEST} ${-NORTH} ${EAST - WEST} ${NORTH - SOUTH}`}
      role="img"
      aria-label="World map of visitors"
    >
      {COUNTRIES.map(({ code, path }) => {
        const count = counts.get(code) ?? 0
        const shade = count === 0 ? undefined : MIN_SHADE + (1 - MIN_SHADE) * (count / most)
        return (
          <path key={path} d={path} fillOpacity={shade} className={count === 0 ? undefined : 'visited'}>
            <title>{`${countryName(code)}: ${count.toLocaleString('en')}`}</title>
          </path>
        )
      })}
    </svg>
  )
}

/** The shapes of all countries with a code. */
function readCountries(topology: typeof atlas): Country[] {
  return feature(topology, topology.objects.countries).features.flatMap(({ id, geometry }) => {
    if (id === undefined || (geometry.type !== 'Polygon' && geometry.type !== 'MultiPolygon')) return []
    return [{ code: toCode(String(id)), path: toPath(geometry) }]
  })
}

/** The code of two letters for a numeric one of ISO 3166: languages are written with either. */
function toCode(number: string): string {
  return new Intl.Locale(`und-${number}`).region ?? ''
}

/** Degrees are the coordinates, with north at the top. */
function toPath(geometry: Polygon | MultiPolygon): string {
  const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates
  return polygons.flatMap((rings) => rings.map(ringPath)).join('')
}

function ringPath(ring: readonly Position[]): string {
  const longitudes = ring.map(([longitude = 0]) => longitude)
  // A country on both sides of the date line, such as Russia, is drawn on the eastern one.
  const crossesDateLine = Math.max(...longitudes) - Math.min(...longitudes) > 180
  const points = ring.map(([longitude = 0, latitude = 0]) => {
    const x = crossesDateLine && longitude < 0 ? longitude + 360 : longitude
    return `${x.toFixed(1)} ${(-latitude).toFixed(1)}`
  })
  return `M${points.join('L')}Z`
}
