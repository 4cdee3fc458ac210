/**
 * The players of the example guild: the same ones on every machine. Ten scripts take turns; scores fall by Zipf's law, so some of each
 * script are popular. Names repeat, as those of people do: the id tells them apart.
 */

/** Given and family names of each script, and how they stand together. */
const SCRIPTS = [
  {
    given: 'Frances Joan John Jack Jill Mia Noah Ruth Amy Carl Emma Paul Grace Henry Iris Walter',
    family:
      "Smith Johnson Miller Jones Baker O'Neil Turner Fisher Mason Cooper Wright Clarke Adams Reed Snow Hart",
  },
  {
    given: 'Łukasz Zoë José Jürgen François Šárka Øyvind Åsa Çağla İpek Nguyễn Renée Þór Márta Ângela Eoin',
    family:
      'Nowak Müller Núñez Lefèvre Dvořák Sørensen Öztürk Strauß Żak Łęcki Gonçalves Ødegård Trần Ó_Briain Szabó Ðorđević',
  },
  {
    given: 'Σοφία Γιώργος Ελένη Νίκος Μαρία Δημήτρης Κατερίνα Οδυσσέας',
    family: 'Παπαδοπούλου Νικολαΐδης Γεωργίου Οικονόμου Βασιλείου Αντωνίου Παππάς Ιωάννου',
  },
  {
    given: 'Иван Мария Женя Ольга Дмитрий Анна Сергій Їжак Пётр Лев',
    family: 'Иванов Смирнова Шевченко Кузнецов Попова Соколов Мельник Ёлкин Чайка Коваль',
  },
  {
    given: 'محمد فاطمة أحمد عائشة يوسف ليلى خالد مريم عمر سارة',
    family: 'العلي حداد الخطيب منصور النجار صالح قاسم الحسن درويش رحمن',
  },
  {
    given: 'สมชาย น้ำฝน กิตติ มาลี ประยุทธ์ วรรณา อรุณ ชัย',
    family: 'ใจดี แสงทอง ศรีสุข บุญมี ทองคำ วงศ์สวัสดิ์ รักไทย สุขใจ',
  },
  {
    given: 'अमित प्रिया राहुल कविता विजय ज़ोया सुनीता अर्जुन नेहा क्षमा',
    family: 'शर्मा वर्मा सिंह गुप्ता पटेल कुमार मिश्रा जोशी यादव रेड्डी',
  },
  {
    given: '민준 서연 지훈 하은 도윤 수빈 존경 예준 지우 시우',
    family: '김 이 박 최 정 강 조 윤 장 임',
    isFamilyFirst: true,
    between: '',
  },
  {
    given: '伟 芳 娜 秀英 敏 静 丽 强 磊 洋 𠮷',
    family: '王 李 张 刘 陈 杨 赵 黄 周 吴 髙',
    isFamilyFirst: true,
    between: '',
  },
  {
    given: 'さくら はると ユイ レン ガク みお そうた 😀 🚀 👨‍👩‍👧 👍🏽 🇩🇪',
    family: 'サトウ すずき タカハシ たなか 渡辺 イトウ やまもと ナカムラ club fan gamer team',
    isFamilyFirst: true,
  },
].map(({ given, family, isFamilyFirst = false, between = ' ' }) => ({
  given: given.split(' '),
  family: family.split(' ').map((name) => name.replace('_', ' ')),
  isFamilyFirst,
  between,
}));

const BEST_SCORE = 100_000;

/** So many players, as the API takes them: `{ name, display, score }`, the most popular first. */
export function guildPlayers(count) {
  return Array.from({ length: count }, (_, rank) => ({
    name: `p-${String(rank + 1).padStart(5, '0')}`,
    display: displayOf(rank),
    score: Math.ceil(BEST_SCORE / (rank + 1)),
  }));
}

function displayOf(rank) {
  const { given, family, isFamilyFirst, between } = SCRIPTS[rank % SCRIPTS.length];
  const turn = Math.floor(rank / SCRIPTS.length);
  const first = given[turn % given.length];
  const last = family[(turn + Math.floor(turn / given.length)) % family.length];
  // Some have two given names.
  const all = turn % 8 === 7 ? [first, given[(turn + 1) % given.length], last] : [first, last];
  return (isFamilyFirst ? [last, ...all.slice(0, -1)] : all).join(between);
}
