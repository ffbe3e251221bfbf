"""What the functions and macros of CEL compute: each line holds, or cannot be evaluated."""

from typing import Any

import pytest

from reprieve.cluster.admission.cel import read
from reprieve.cluster.admission.cel_formats import quantity_of
from reprieve.cluster.admission.cel_functions import STANDARD, functions, merged
from reprieve.cluster.admission.cel_values import CostBudget, Patterns, SenselessError

SELF: dict[str, Any] = {
    "name": "web-1",
    "a-b": 1,
    "namespace": "n",
    "list": [3, 1, 2],
    "map": {"x": 1, "y": 2},
}


def asked(rule: str) -> object:
    return read(rule, ("self",))({"self": SELF}, CostBudget(100_000, "the rule"), Patterns())


HOLDS = r"""
# literals
'''it's''' == "it's" && r'\d' == '\\d' && '\x41\u00e9\101' == 'AéA' && b'\xff' != b'ÿ'
R"\n".size() == 2
0x10 == 16 && 2u == 2 && -9223372036854775808 < 0 && 1.5e3 == 1500.0 && .5 == 0.5
[1, 2,] == [1, 2] // a comment
{'a': 1, 'b': [2]}.b[0] == 2 && {1: 'x', true: 'y'}[true] == 'y' && 1.0 in {1: 2} && !(1.5 in {1: 2})
# types
type(1) == int && type(1u) == uint && type(1.0) == double && type('') == string && type(null) == null_type
type(self.map) == map && type(type(1)) == type && type(duration('1s')) == google.protobuf.Duration
int('-7') == -7 && int(2.9) == 2 && int(timestamp('1970-01-01T00:01:00Z')) == 60 && uint('3') == 3u
dyn(1) == 1
double('1.5') == 1.5 && double(3) == 3.0 && string(1.5) == '1.5' && string(1e30) == '1e+30'
string(100000.0) == '100000'
string(b'ab') == 'ab' && bytes('é').size() == 2 && bool('t') && !bool('False') && string(true) == 'true'
1 == 1.0 && 1 < 1.5 && 2u > 1 && !(1 == '1') && [1] == [1.0] && {'a': 1u} == {'a': 1}
# texts
'tacocat'.indexOf('c') == 2 && 'tacocat'.indexOf('c', 3) == 4 && 'tacocat'.lastIndexOf('a') == 5
'a'.indexOf('b') == -1
'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'abc'.charAt(3) == ''
'éa'.charAt(0) == 'é'
'a-b-c'.replace('-', '+') == 'a+b+c' && 'a-b-c'.replace('-', '', 1) == 'ab-c'
'ab'.replace('', '.') == '.a.b.'
'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('') == ['a', 'b', 'c'] && 'a,b'.split(',', 0) == []
['a', 'b'].join('-') == 'a-b' && [].join() == '' && 'aÉ'.upperAscii() == 'AÉ' && ' a\n'.trim() == 'a'
'%s is %d%% of %.1f, %x'.format(['a', 5, 2.25, 255]) == 'a is 5% of 2.2, ff' && '%b'.format([5]) == '101'
'%s'.format([[1, 'a', null]]) == '[1, "a", null]'
'%s'.format([{'b': 1, 'a': true}]) == '{"a":true, "b":1}'
strings.quote('a"\n') == '"a\\"\\n"' && matches('abc', 'b+') && 'abc 12 34'.find('[0-9]+') == '12'
'a'.find('b') == ''
'12 ab 34'.findAll('[0-9]+') == ['12', '34'] && '12 34'.findAll('[0-9]+', 1) == ['12']
# lists
[3, 1, 2].sort() == [1, 2, 3] && [1, 2, 2].isSorted() && [1, 3].sum() == 4 && [].sum() == 0
['a', 'c', 'b'].max() == 'c'
[1.5, 0.5].min() == 0.5 && [1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2
[duration('1m')].sum() == duration('60s')
[1, 2, 2, 1.0].distinct() == [1, 2] && [[1], [2, [3]]].flatten() == [1, 2, [3]]
[[1, [[2]]]].flatten(2) == [1, [2]]
[1, 2, 3].slice(1, 3) == [2, 3] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]
[1, 2].includes(2)
[1, 2].first().value() == 1 && [1, 2].last() == optional.of(2) && ![].first().hasValue()
'a'.includes('a')
sets.contains([1, 2, 3], [3, 1]) && sets.equivalent([1, 1], [1u]) && sets.intersects([1, 2], [2, 9])
!sets.contains([], [1])
# macros
[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && self.map.map(k, k) == ['x', 'y']
[1, 2].exists_one(x, x == 2)
[1, 'a', 2].exists(x, x > 1) && ![1, 'a', 0].all(x, x > 0) && [3, 1].sortBy(x, -x) == [3, 1]
['a', 'b'].all(i, v, i < 2 && v != '') && self.map.exists(k, v, k == 'y' && v == 2)
[4, 6].existsOne(i, v, v - i == 4)
['a', 'b'].transformList(i, v, i > 0, v + 'x') == ['bx']
self.map.transformMap(k, v, v + 1) == {'x': 2, 'y': 3}
['a', 'b'].transformMapEntry(i, v, {v: i}) == {'a': 0, 'b': 1} && cel.bind(x, 2, x * x) == 4
{1: 2}.transformMap(k, v, k) == {1: 1}
[1, 2].all(x, [1, 2].exists(y, x == y)) && [[1, 2], [3]].map(x, x.map(y, y + 1)) == [[2, 3], [4]]
# optional values
self.?name.orValue('') == 'web-1' && !self.?nothing.hasValue() && self[?'nothing'].orValue(1) == 1
self.list[?9].orValue(0) == 0
self.?nothing.deeper.deepest.orValue(2) == 2 && self.?map.x.value() == 1
optional.none().or(optional.of(1)).value() == 1
[?optional.none(), 1] == [1] && {?'a': self.?nothing} == {}
self.?name.optMap(n, n + '!').value() == 'web-1!'
self.?map.optFlatMap(m, m[?'z']).hasValue() == false && optional.ofNonZeroValue('') == optional.none()
has(self.?map.x)
optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(1)].unwrapOpt() == [1]
# names
self.a__dash__b == 1 && self.`a-b` == 1 && has(self.a__dash__b) && self.__namespace__ == 'n'
!has(self.b__dot__c)
# times
duration('1h30m').getMinutes() == 90 && duration('1h') + duration('-30m') == duration('1800s')
string(duration('1.5s')) == '1.5s'
duration('90s').getHours() == 0 && duration('1500ms').getMilliseconds() == 1500
-duration('1s') < duration('0')
timestamp('2026-03-01T00:00:00+01:00') == timestamp('2026-02-28T23:00:00Z')
timestamp(0).getFullYear() == 1970
timestamp('2026-01-04T23:30:00Z').getDayOfWeek() == 0
timestamp('2026-01-04T23:30:00Z').getDate('+01:00') == 5
timestamp('2026-01-01T00:00:01Z') - timestamp('2026-01-01T00:00:00Z') == duration('1s')
timestamp(60) + duration('1s') == timestamp(61)
string(timestamp('2026-01-02T03:04:05.60Z')) == '2026-01-02T03:04:05.6Z'
timestamp('2026-07-01T12:00:00Z').getHours('Europe/Paris') == 14
# addresses
isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0.01') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')
ip('::1').family() == 6
ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && ip('127.0.0.1').isLoopback()
ip('0.0.0.0').isUnspecified()
ip('fe80::1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()
!ip('255.255.255.255').isGlobalUnicast()
isCIDR('10.0.0.0/8') && isCIDR('::1/128') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0')
!isCIDR('10.0.0.0/255.0.0.0')
cidr('10.0.0.0/8').containsIP('10.9.9.9') && cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))
cidr('10.1.1.1/8').masked() == cidr('10.0.0.0/8')
cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))
cidr('10.1.2.3/24').prefixLength() == 24
string(cidr('10.1.2.3/24').ip()) == '10.1.2.3' && !cidr('10.0.0.0/8').containsIP('::1')
# URLs
isURL('https://a.example:80/b?c=d#e') && isURL('/path') && !isURL('../path') && !isURL('https://a:b:c/')
!isURL('a b://c')
url('https://u:p@a.example:80/x y?k=1&k=2&l').getHost() == 'a.example:80'
url('https://[::1]:80/').getHostname() == '::1'
url('https://a/x y').getEscapedPath() == '/x%20y'
url('https://a?k=1&k=%202').getQuery() == {'k': ['1', ' 2']} && url('HTTP://a').getScheme() == 'http'
url('https://a:8/').getPort() == '8' && url('/a').getHost() == ''
url('https://a/b#c').getEscapedPath() == '/b'
# quantities and versions
quantity('1.5Gi').isGreaterThan(quantity('1G')) && quantity('200M').compareTo(quantity('0.2G')) == 0
isQuantity('1e3') && !isQuantity('1K')
quantity('50k').add(20).sub(quantity('100k')).asInteger() == -49980 && quantity('1m').isInteger() == false
sign(quantity('-1')) == -1
quantity('500m').asApproximateFloat() == 0.5 && !quantity('9999999999999999999999G').isInteger()
quantity('1Ki') == quantity('1024')
semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))
semver('v1.2', true).minor() == 2
semver('1.0.0-alpha.2').compareTo(semver('1.0.0-alpha.10')) == -1 && isSemver('1.2.3+build')
!isSemver('v1.2.3') && !isSemver('01.2.3')
# formats
!format.dns1123Label().validate('web-1').hasValue()
format.dns1123Label().validate('Web').value().size() == 1
format.named('uuid').hasValue() && !format.named('other').hasValue()
!format.named('uri').value().validate('https://a').hasValue()
!format.dns1035LabelPrefix().validate('a-').hasValue() && format.date().validate('2026-02-30').hasValue()
format.byte().validate('=').hasValue()
"""
FAILS = r"""
int('a') || int('9223372036854775808') == 0
uint(-1) == 0u
1 + 1.0 == 2.0
9223372036854775807 + 1 > 0
1u - 2u > 0u
5.0 % 2.0 == 1.0
1 / 0 == 1
'a' < 1
'abc'.substring(2, 1) == ''
'abc'.charAt(4) == ''
'%d'.format(['a']) == ''
'%s %s'.format(['a']) == ''
[].max() == 1
['a', 1].sort() == []
[1, 'a'].all(x, x > 0)
self.list[3] == 1
{'a': 1, 'a': 2} == {}
optional.none().value() == 1
'a'.or(1)
duration('1 hour') == duration('1h')
timestamp('2026-02-30T00:00:00Z') == timestamp(0)
timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)
timestamp(0).getHours('Nowhere/City') == 0
ip('10.0.0.256') == ip('10.0.0.1')
url('a').getHost() == ''
quantity('Mi') == quantity('1')
quantity('1.5').asInteger() == 1
semver('1.2') == semver('1.2.0')
'a'.matches('(')
self.list.map(x, x).unwrapOpt() == []
self.name.size
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("rule", lines(HOLDS))
def test_what_holds(rule: str) -> None:
    assert asked(rule) is True


@pytest.mark.parametrize("rule", lines(FAILS))
def test_what_has_no_value(rule: str) -> None:
    with pytest.raises(SenselessError):
        asked(rule)


def test_variables_and_functions_can_be_added() -> None:
    """As for devices, whose selectors see attributes and capacities by domain."""
    own = merged(STANDARD, functions({"<map>.named(string)": lambda names, name: name in names}))
    device = {
        "attributes": {"gpu.example": {"model": "a"}},
        "capacity": {"gpu.example": {"memory": quantity_of("40Gi")}},
    }
    rule = (
        "device.attributes['gpu.example'].?model.orValue('') == 'a'"
        " && device.attributes.named('gpu.example')"
        " && device.capacity['gpu.example'].memory.isGreaterThan(quantity('30Gi'))"
    )
    found = read(rule, ("device", "other"), own)
    assert found.variables == {"device"}
    assert found({"device": device}, CostBudget(1_000_000, "the selector"), Patterns()) is True
