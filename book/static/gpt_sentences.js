// Sentences of shared/data/grammar.py, written by `make tidy`.
const GPT_SENTENCES = {
  heldOut: 200, // the last ones
  best: 1.664249, // what they cost the grammar itself, in nats a word
  text: `a robot that saw an angry robot walks .
today an owl that the girls that two girls that carry two lamps find see sees the old robot and it carries two lamps .
yesterday the small owl slept but it saw a king .
the angry robots with the red lamp sing .
many boys that the owl near many towers found walk to a river .
the robot that the boys that carried the lamp saw painted an apple but it slept .
today the boy that many robots that carry the apples see finds the robots but he sings .
today the old girl that many kings that carry a lamp see walks .
a young robot carried two lamps .
two old queens carried many red lamps .
many girls with a lamp paint an old box but they sleep .
yesterday the robot that found an old robot slept quietly .
the old owls that two girls near many rivers saw walk .
the robot that the robot sees sleeps quietly .
the girls that two boys behind the towers see walked but they sang near the rivers .
an angry robot that two robots see carried many red umbrellas .
the boy carried the apple but he sang quietly .
yesterday a young boy that the kings that painted the apples found saw many robots and he ran quickly .
the old owl near the garden sees the king and it walks quickly .
the queen that the robots that the robots found see saw the robot and she saw the boys .
yesterday a boy near two islands carried the boxes .
the queen that found an old robot slept .
yesterday two enormous robots that the girls that many robots saw saw walked .
a young robot that the robot near many gardens sees walked and it slept near two towers .
a girl that saw the robot sleeps .
the robot slept .
the old owl near two rivers saw the robot and it walked slowly .
yesterday many girls that found many robots slept but they carried the lamp .
today two robots near an old tower sleep quietly .
an old queen that carried a lamp carries the lamps .
a robot near the tower ran .
a robot with the lamps saw a robot .
the robots sing .
yesterday the girls that the robot that the robot with a red lamp saw saw walked .
yesterday the small robots ran .
today a young robot that carries two boxes sleeps quietly .
the robots that many robots that the girl finds saw sing near an old island .
yesterday many old girls sang .
the young robots that the robot that many boys see found ran to two rivers .
yesterday an old robot saw itself .
yesterday two robots slept quietly .
yesterday the queen found two owls .
today a boy that paints a red lamp sleeps quietly .
today a boy that sees the queens walks .
two robots walk .
today a boy sees himself .
today the boys that find a girl see themselves .
an old owl that the queens saw carries the empty lamp but it runs .
yesterday a robot with an apple found the young owl .
a young robot slept quietly .
yesterday the young robot that two robots saw slept .
the girl finds a robot .
the robot with a lamp runs to the old island .
yesterday the boy that many robots that carried the umbrella saw saw a young girl .
the small robots that carried two red lamps slept quietly .
yesterday an old girl behind the towers saw two old queens and she ran slowly .
the boys with many boxes painted a red lamp .
yesterday an old robot saw an old king .
yesterday many girls with an apple walked to two green towers and they slept .
many robots with the lamp found the angry robot .
the young girl that carries two red lamps sings near the tower .
a young robot that the kings find walked slowly .
yesterday a robot that carried the empty lamp found a robot .
yesterday the girls that the queens that saw the old boy saw sang but they painted many umbrellas .
today a robot that the robots that the robot near a tower sees find sings quietly but it finds the old queen .
yesterday the enormous boy that two robots behind a tower found painted a box .
yesterday an angry owl that found the girls carried the lamp .
yesterday the old robot painted the umbrella .
a small boy paints an umbrella .
a robot walks to a tower .
today the small queen sees the young boys and she runs .
yesterday the boy slept quietly and he sang .
yesterday the young girl that found many boys walked to the old garden but she ran .
a girl sleeps near the green river .
the queens behind two rivers carried the box .
the enormous kings behind the old towers slept near the tower .
yesterday two girls carried the apples .
an old robot that sees an angry king saw a robot .
today many robots paint the apples .
yesterday the girls that carried an apple carried the old lamps and they slept quietly .
yesterday a boy with many lamps slept but he sang .
two young queens that the owls that carried the lamp saw paint an apple .
many robots that painted the old box sleep quietly .
today the girls that see a robot carry a lamp .
yesterday the boys ran to a river .
yesterday an owl painted an apple but it found the owls .
the robot that two robots that two robots with many umbrellas found see paints the red lamp and it sees the girl .
two girls see the robot .
the young kings painted many lamps .
yesterday two queens that the owls that two girls saw saw carried the red lamps .
yesterday an angry boy found two boys but he walked to the towers .
today two old queens that carry two red apples sing quietly but they carry the umbrella .
yesterday two robots that the owls that saw two angry queens found found the boy and they slept .
a queen with an empty lamp finds a robot and she carries the lamps .
yesterday two robots that the robot found carried the red apple .
yesterday a boy that found the girl sang .
yesterday the enormous robot that the boy saw carried two lamps .
yesterday a queen that the robots saw ran to a tower .
the young robot walked .
today many old owls that see themselves see a robot .
the old boys that many robots saw walked to an island .
the old robots sleep but they run .
today two girls with two apples carry an apple .
two old girls ran to an old tower .
many old robots that the girls that carry many boxes see sing .
a small old boy saw the kings .
yesterday the king near two old towers walked and he sang quietly .
the angry robot ran quickly but it carried the apples .
yesterday an owl walked .
two enormous girls with many lamps run to many islands .
a boy saw himself but he saw the young robots .
a small robot near many gardens saw an owl but it carried a lamp .
a young boy that two robots saw carries the empty lamps .
a young robot that the robots find sang .
the kings walk to the ancient island .
the robot that two girls found walked .
two angry boys behind the old gardens see themselves .
many enormous robots carried the lamp .
today many angry girls near many old islands paint many lamps but they sleep quietly .
today the young boys near many rivers see two robots but they carry a red lamp .
a small girl with the umbrellas sees many young robots and she runs to a tower .
today the angry robot walks to many towers and it sees an old robot .
many robots carry the red boxes .
yesterday the robot that saw two girls carried the red lamps .
yesterday a queen that the owls that carried the red apples saw sang quietly .
yesterday two robots that many robots that two robots behind a river saw found walked but they painted the umbrellas .
today many girls that see themselves sing quietly but they sing .
a small young king saw two boys .
yesterday the owl painted the red apples and it walked slowly .
yesterday two young kings slept near a tower .
today the robots carry many lamps and they see themselves .
today a girl runs to the towers .
today a boy that carries many lamps carries two old apples .
today a young girl sleeps near many gardens .
the enormous girl ran slowly and she painted the red lamp .
two enormous kings found themselves .
today the small robots that many robots behind the old garden see walk .
yesterday the robots that carried an apple slept quietly .
today the small robot sleeps quietly .
the robots carried a red apple .
yesterday many robots that the robots saw sang near a tower .
yesterday many enormous queens sang near an island .
yesterday many boys that the boys that two robots that saw the kings found saw found themselves and they walked .
today a boy sleeps near a tower .
today an owl that the kings that the girl sees find finds itself and it paints an apple .
today the robot that carries an old lamp paints many apples and it paints many old umbrellas .
yesterday many small angry robots carried two umbrellas and they painted two umbrellas .
an old robot behind the old tower ran .
the young kings see the young queens and they run to the green islands .
a girl near an island sees a robot .
today an enormous girl behind an island carries many old lamps but she runs .
an old owl that carries many empty boxes carried the old box and it walked .
yesterday many girls carried two lamps .
the small boy that carries two apples ran .
the small kings near the rivers walked to the green tower but they carried the lamp .
yesterday the old robots walked .
yesterday the old robot saw the girls .
a robot slept quietly .
yesterday the robot found two angry girls and it slept near many islands .
today a robot that sees many old girls walks slowly .
yesterday an old robot walked .
the robots that saw two young robots carry many umbrellas .
yesterday an owl that saw the girl sang near a tower .
today the girl that the robot that the girls find sees carries a lamp .
yesterday a robot carried many red apples .
yesterday the queens sang quietly .
the queen carried two boxes .
the queen that the girl saw sees herself but she finds the girl .
the small angry owl painted the lamp .
today the small robots carry many boxes .
today an owl sleeps and it paints many umbrellas .
yesterday a robot slept quietly .
yesterday the small boys with a lamp walked to an ancient tower and they saw a queen .
yesterday the young boys behind the rivers sang .
yesterday the boy near an old tower carried a lamp .
an old queen that the robots saw sang near the old towers .
today many robots that the girls see find many robots and they see themselves .
yesterday the robots that the owl found slept and they slept .
yesterday a small owl sang .
today a robot that two owls see sees a girl and it sings .
today the small robot sees an old robot but it sleeps quietly .
today the girl finds herself .
yesterday the angry king that painted many boxes saw two robots and he slept quietly .
the small robot that the robot near the tower finds walked .
today a small old boy carries two lamps .
a girl walks to the garden .
today the small kings that paint the red lamps carry a red lamp and they find many robots .
two girls walked to the old rivers and they saw two owls .
yesterday the girl painted two old lamps but she saw the robots .
a boy finds two girls .
the robots that carry the apple ran but they saw the boys .
an old robot that the robot that carries the apple sees sleeps .
yesterday the robot that found many old robots found a young robot .
an old robot that two boys near the islands saw carried an old lamp and it ran slowly .
the young girls near two towers paint the old apple and they carry many red lamps .
today the enormous angry robots that the owls that carry an apple find sleep near the rivers .
the girl near an old tower sings .
many old robots behind the garden sang but they found two robots .
an owl that the robot that the girls saw saw slept and it slept .
yesterday a small robot with the apples saw itself .
today the robots that the king sees carry an apple and they sing .
yesterday the kings with the lamps walked slowly .
two girls sleep and they sing quietly .
an old girl that the robot near a tower sees runs .
an enormous robot that the robots with a red lamp find sings quietly .
yesterday the angry owls painted many boxes .
yesterday the enormous owl that the girls with the box saw found the kings .
today a queen that the robots that the girls near the islands see find sees many old boys .
a robot that the robot that the boy behind a tower sees sees runs .
yesterday the old girl sang and she walked quickly .
today the small old queens that two kings find sleep .
a small old robot that sees the young robot walks to the tower .
yesterday a girl that carried a box walked quickly .
a boy paints the red lamps .
today a girl paints many lamps .
today the small robots with many apples walk .
yesterday two queens that saw the queen ran to the tower .
the robots with many red lamps ran to an old tower .
the queen that two girls with a red umbrella see painted an apple .
yesterday a robot with the lamp slept quietly .
an old robot sleeps quietly .
two young robots run quickly .
two angry robots that the robot saw found a robot .
the boy near the towers walked slowly .
the owl that the boys found runs .
today a robot with an apple paints many boxes but it sees the kings .
two old queens behind the tower carry two apples .
today two robots sleep quietly .
today two kings that many boys with the box find walk to the rivers .
yesterday a young robot that saw the robot painted an old apple .
the robot near two islands painted the red apples but it carried a red lamp .
today a robot sings and it carries the lamp .
yesterday the small young boys carried many apples .
the robot sings .
the robots ran slowly .
yesterday a robot that many kings saw painted an empty apple .
the angry robots see the angry robots .
yesterday a robot carried a red lamp .
many robots that two boys that carried the apple found walk and they sing .
the small girl behind a river carries an empty lamp .
a small old boy runs quickly and he carries a red apple .
today the enormous boy near an old island walks but he finds the robots .
yesterday two boys that the robots that the boys saw saw walked quickly .
the girl with the old apple sleeps quietly .
today an enormous robot that the robots behind an old tower find sleeps .
today a robot behind a tower sleeps and it finds a young girl .
yesterday many owls slept near two old islands .
many kings that saw the old boys sleep but they sleep .
a queen carried two lamps .
yesterday a small king that saw the old robot sang near an old island .
two girls that the owls that many owls that find themselves see found ran .
today the angry kings that many robots find sleep quietly .
a small robot saw itself and it saw many robots .
yesterday a king with the umbrellas sang quietly .
a robot that found the old robot runs slowly .
yesterday a robot with many red boxes saw a young robot .
two robots find an old robot and they carry the lamps .
many old owls saw the young boy .
the enormous angry robots that the owl that the boys behind a green tower saw sees walk but they carry an apple .
yesterday the robot behind many towers slept quietly and it ran .
yesterday many robots carried a lamp .
a robot that the robots that two robots behind a tower find saw carries a lamp .
yesterday the girl carried the apple .
the boys with many lamps sleep .
today the small young robots that the boys that the robots near two islands see find sleep but they see an old robot .
today a boy that finds the old robot carries a box .
many robots that two robots that found the robot see found a robot and they walked to the rivers .
today two queens that the robot sees walk to the rivers .
yesterday a girl with the old lamps slept quietly .
yesterday the boys carried the old apple but they found the old queen .
yesterday a robot carried the old umbrella and it carried a lamp .
yesterday the small old boy near the river walked quickly .
today two old robots carry a lamp .
today the enormous angry girl runs but she sleeps .
a small young robot that many robots see sleeps and it sings near a garden .
today two owls that see the robots sleep quietly and they walk .
a small robot that the robots found runs to many old rivers .
many girls behind an island walk but they see the boys .
yesterday the old girls that saw a robot slept and they sang quietly .
a young robot near many old rivers painted the lamps .
two old girls that saw a robot sleep near a garden .
a small young girl that the girls saw slept .
an old robot with the apples saw two girls .
the small old robots near a tower painted two lamps and they walked slowly .
yesterday an old boy saw himself .
an old robot runs to the old tower .
the old robot sees itself .
the robot that many queens see carries two old lamps .
yesterday the kings near two towers slept .
the girls that saw the kings carried two lamps .
the owls sleep quietly and they run to many old towers .
the small robots that the kings see find a robot and they see themselves .
today a young girl that two owls that two girls see see walks to a green tower and she carries a red lamp .
today the owl carries the box .
today a girl finds two robots .
today many boys see the girl .
yesterday a girl that carried many red boxes slept quietly .
yesterday the owls found themselves .
an angry boy that carried the red umbrellas found a girl .
yesterday a king that found a robot sang quietly and he carried a lamp .
the robot that paints an old lamp runs quickly .
many queens carried many empty lamps but they slept .
an old boy that many boys that see a robot saw paints the empty lamps .
yesterday a boy slept .
the old king painted the lamp .
today a small angry robot sleeps quietly and it carries the lamp .
the robot walks .
yesterday a small young girl slept near many old towers and she walked to the green tower .
today a young king that the robot that two robots see finds sleeps and he paints the box .
today the robots that the girls see find themselves .
an old girl slept .
yesterday the girl that painted the empty box saw herself .
yesterday the boy that the girls with the lamps found saw two old boys and he painted a lamp .
a girl that the boy sees walked but she saw the young king .
the queens that the girls that the girl that saw the old girls finds found find a boy .
a small robot with many umbrellas finds itself .
today many small boys sleep quietly .
yesterday many girls that the robot that the boy found saw walked quickly .
yesterday two robots that the girls that carried the old apple saw saw a boy .
yesterday a queen that the boy behind the towers saw carried an umbrella but she walked to the tower .
many young boys that see two robots paint an umbrella and they paint the lamp .
today a boy that sees two robots carries a red apple .
yesterday the old queen that the girls that saw themselves saw carried an old apple .
a boy that the robots found sees the robots .
the small young robot that finds itself carries the lamps .
today the old robots near many old towers carry the apples .
yesterday a small angry robot that two robots found sang .
yesterday a robot saw itself .
today the old queen sings near the tower .
the robot that the boy saw walked to the tower .
a girl that carries the lamps walked to a garden .
yesterday many girls that many boys saw carried a lamp .
many small angry robots walk to a garden .
many owls sleep quietly but they find the old queens .
today the old robots that the owls that find themselves see sleep .
two boys with an apple walk to the rivers .
the queen that saw a girl sang and she slept quietly .
a girl behind the green towers paints the empty lamp .
many old girls that many owls see carry the old lamp .
a small boy carries two apples and he sees an old robot .
today a young boy near an old tower runs to the river .
yesterday the robot that the girl that the owls found saw carried the lamps and it carried two red boxes .
yesterday a small young robot carried many red lamps .
the old king walks .
a queen behind an ancient river sings .
a boy paints a lamp and he sleeps near the river .
the old boy near a river runs slowly .
yesterday an old boy that the robots that painted the old box found found the girls .
today the angry boy carries a red umbrella .
many old queens that the queens see found a girl but they walked .
today many boys that the robots that many boys behind many gardens see find sleep .
yesterday a girl that many queens saw sang quietly and she carried many lamps .
a small old robot that the boys find paints two lamps .
the young girl that the owl finds sleeps but she runs quickly .
a girl that carried a lamp carries a box .
today a robot walks .
yesterday an old king that painted the umbrella saw the robots .
many girls that two robots saw sing quietly .
yesterday the robot that two boys that two owls saw saw saw two old girls .
the small robot sings quietly .
many enormous old kings that carry the apples saw themselves .
today many angry kings that the girls that the robots see see sleep quietly but they sleep .
the robots painted an apple .
the boy that many owls that the owl behind a green tower saw saw found the owls and he slept .
yesterday a small robot ran .
the boys carried the empty lamps .
many robots that the robots that the girls that carry many boxes find saw slept but they ran .
today the old robot that the robot that carries the lamps finds sees the old robot .
yesterday the girls carried the apple and they walked .
yesterday the old robots that the girls behind the tower saw sang near the towers .
today an old queen finds an owl but she sings .
yesterday many old queens that found the robot carried many lamps and they found a robot .
the owl finds the girl .
a small young boy slept and he found the boy .
today a robot behind a tower sees two girls and it sleeps near a green tower .
the kings that the queen with two red umbrellas saw found two old robots .
many robots that carried the lamp run to the tower and they walk .
yesterday many young robots walked to many rivers .
many girls sing near a tower .
yesterday many small robots that many robots near a garden saw carried two apples .
two robots behind two towers carry many apples .
the robot that two robots behind the green river saw finds itself .
yesterday an old robot carried the empty box .
an enormous young king behind a tower saw two old girls and he walked to many towers .
yesterday the owl slept quietly .
today two small young robots carry two apples .
two boys find themselves .
today two robots that many girls that the robot behind the river sees see sleep and they carry many old lamps .
today the robot that two queens that carry many apples see sees an old boy .
an old robot saw the robot .
today a boy that paints a lamp sees a boy .
yesterday a robot ran .
yesterday the young boy carried the apples .
yesterday the robot slept near many towers .
today the boys that the girls that two owls see see see themselves .
a small old robot that the boys see sings quietly and it finds itself .
yesterday the old girls with an empty umbrella slept but they carried many red lamps .
a girl that carried a red lamp sings near an island .
today a small girl carries an apple but she runs .
today the young girls behind many green towers sing and they carry a box .
an owl that two girls see walked .
today two queens paint the old lamps .
yesterday a small robot that the owls saw slept .
the boys saw the robot .
today the robot with the empty lamps sees two robots .
today a robot that carries the umbrella sees itself .
two small girls that see many queens walk to the towers and they paint many umbrellas .
an owl finds a young boy .
today the boys that carry the lamps run to an old garden and they carry two boxes .
a young robot sees the robots .
yesterday a small young girl walked slowly but she carried a red lamp .
yesterday the owl that two girls that two robots saw saw painted two boxes .
the old robots that many robots with two lamps found walked to the green garden and they saw the robot .
the old robots with many lamps saw the owl .
today the old robots that the owls that see an owl see see themselves .
a girl that the robots see saw herself .
today two girls that find the young robot paint many red lamps .
today two small queens that carry the red lamp see themselves .
many owls that the robots that see many angry girls find see the robots .
many girls that the robots near the old tower see saw themselves .
yesterday a girl that painted the red umbrellas sang .
the kings near many rivers saw themselves but they slept .
an owl carries an old box .
a robot that the boys that carried the lamps found walked .
the boys that the robot found found the old robot .
yesterday a small robot slept quietly .
the old robots near the towers saw the robots .
a young robot that the queens that the girls found saw walks .
yesterday a king near two ancient towers painted the lamps and he slept .
yesterday the robot that found itself painted two umbrellas .
yesterday two girls that many queens that carried many red lamps saw sang quietly .
yesterday many young robots behind the river walked quickly .
today the robots that paint the red umbrella walk quickly .
today a robot that sees two old kings sees many girls .
yesterday a girl found a queen .
the old king that the girls find ran quickly .
an old robot that two kings see sees itself but it finds the robots .
an old king that two girls find walks and he sleeps .
yesterday the old robots painted the red lamps .
yesterday the robots that saw an angry queen painted a box .
yesterday the queen saw the old king .
yesterday two robots walked and they slept quietly .
many girls behind the tower paint the boxes .
yesterday many robots that the robots found carried an old apple and they walked .
yesterday a girl near a tower sang near a green river .
yesterday the young robots carried the lamp .
the small old robot that the girl found slept quietly and it slept .
yesterday a robot near an island sang quietly and it found the boy .
today the small young robot sleeps .
a robot sleeps near a green tower .
the robots with the old lamps slept .
the enormous kings that saw an owl walk quickly .
yesterday a robot walked .
an owl that the boys found walked quickly and it slept quietly .
yesterday the small young girl walked and she painted the lamp .
an owl that the kings that carried the red lamps found carried the box .
yesterday many old boys with an apple slept .
two old robots that the robot found carried an empty umbrella .
yesterday many robots near an ancient river saw the girl .
the robot near two towers saw a young king and it saw two old robots .
today the robots that the robots see carry many old lamps .
yesterday a robot walked to many old rivers and it painted the lamps .
today the old girl near the old garden sings near a green tower but she sees herself .
the old robots find the boys and they paint the apples .
yesterday two robots behind the green rivers sang but they carried many boxes .
many queens sleep near two gardens but they sleep .
an angry robot with two boxes carries the old lamps .
today the robots behind a tower sleep .
today the boys that the boys with the old apple find sleep .
the old girl that the robots with two lamps see carried the empty box but she found herself .
a girl that sees a girl carried the apples and she saw the robots .
today an angry boy that the queens see sings quietly but he runs .
today the robot that finds two robots runs to the ancient rivers and it carries many boxes .
the young robot behind the towers saw the kings .
yesterday the robots that found themselves saw two old robots .
yesterday the young girl sang .
yesterday the robot with the lamps ran to the islands .
yesterday the old robot that found an owl sang .
yesterday a boy that the king that carried many umbrellas saw saw many queens and he slept quietly .
today a young robot with the red umbrella carries a red lamp .
today the robot carries the old boxes .
yesterday a young queen that carried many umbrellas painted the lamps and she saw herself .
today the owl that the robot near a tower sees finds many robots .
yesterday a young robot carried the old umbrella .
today a robot sees itself and it sleeps near the ancient islands .
yesterday the small girls that saw the boy carried a red box .
many enormous queens found a robot .
the girl paints an old lamp .
yesterday the boy that the robots that the girls found found slept quietly and he found many old girls .
yesterday the girls carried two red lamps and they slept .
a boy near the island walks to the tower but he paints two lamps .
the young owl walks but it sleeps near a tower .
many girls that the girl that the robot that carries a box sees saw carry two empty lamps and they carry two apples .
today two old girls walk .
the robot near the tower slept quietly .
today the owls that see themselves sing near an island but they see a young boy .
an enormous owl that two robots find found itself and it saw many young boys .
the small girls that found themselves sing quietly and they see a young boy .
an old robot saw two boys but it saw two robots .
the king that the girls saw saw the boys but he ran slowly .
yesterday a robot that the owl that carried the red lamps saw painted a lamp but it slept near many green islands .
the kings walked .
many robots carried a lamp but they painted many umbrellas .
today the robot near a green river sees a girl but it sees the young robot .
the boy that many kings that carry two lamps find finds two owls and he runs to the old rivers .
yesterday the robots that the queen that many robots found found painted many old boxes .
the owls sleep .
two robots behind a river sang and they ran slowly .
the girl that the king that finds himself sees sees the girls but she sees the old robot .
an angry boy that sees many owls saw a robot .
today an enormous old king near a river sleeps near two rivers .
yesterday a boy that the robot with the umbrella saw painted two lamps and he slept near the old rivers .
the old girl with the lamp ran but she found many young girls .
yesterday an owl that many robots saw sang quietly .
the queens that see a robot see the girls and they find the angry robot .
many old robots that the robots behind two old towers see walk .
yesterday the old robot behind a tower slept .
the robot carried the box and it ran .
yesterday a girl behind the green tower painted a red lamp but she slept near the tower .
yesterday the robots carried the umbrella and they painted a lamp .
today an owl carries an old lamp .
the small robot with the lamps carried a red umbrella .
yesterday an old robot that the owl saw carried the empty lamp .
a girl sings .
today an angry robot near the tower walks .
the girl ran to many green towers .
the robot that many owls saw sleeps quietly and it sees a young girl .
the girl near the green tower runs slowly .
the old girl that two robots with the red lamp saw carried a lamp .
many angry owls walked to a garden and they saw an owl .
today the old owls that many robots near an old river see sleep .
two old robots painted a lamp and they slept .
yesterday two robots carried a lamp .
a king carried the box .
the girls near an old garden sing .
today a robot carries many apples .
two robots behind the towers sing near many towers .
today an owl near a garden sleeps .
an owl walked .
yesterday the owls carried two lamps .
today the robot that the girl near two towers sees sleeps .
today the enormous robots with an old umbrella see an owl .
yesterday a young king sang quietly and he sang .
today the angry queen sleeps quietly .
a robot carried the apples .
the old owl with the umbrellas slept .
an old robot with the red box sees two robots .
the girl that the girl with the old lamp saw sleeps and she finds herself .
yesterday the robot that the boy that many robots saw saw walked quickly .
two old boys sleep .
the boys carried two lamps .
today a girl that carries an umbrella carries an apple .
the young girls that the girl that many robots near two towers see sees paint the umbrellas and they walk to the old tower .
today a robot that the boy finds walks to a river .
yesterday many old queens that the robot saw carried a lamp .
today an old owl that the boy finds sings near the tower but it paints the red umbrellas .
many robots that two boys near a river saw see themselves and they sleep .
a robot walks .
yesterday the small girls that many owls found slept .
a small young owl saw the robots and it ran .
yesterday a robot with the red lamp saw the old robot .
a robot near the towers slept but it walked .
yesterday the boys saw themselves .
yesterday a robot that many robots saw saw two queens .
today many old robots with the boxes carry the lamps but they sing .
an old boy saw a robot .
the girl that two robots find walked .
yesterday the queens near many towers found many robots .
two kings that found an old girl sang near the garden and they walked to the rivers .
the robot walked and it walked .
the girls carry the old lamps .
many robots with a lamp carried an empty umbrella .
two old girls with a lamp painted a lamp .
the boys behind two towers run quickly .
the boys carried a red box and they slept .
the girl carries the red lamps but she walks slowly .
the girl that saw many girls carries a lamp .
today the old boy behind the ancient river walks .
a robot that the owl saw walked .
a robot that finds a girl paints the lamps and it finds a boy .
the old girls that found a robot found themselves .
today many robots sing quietly and they run .
the angry girls that find many robots find a robot and they walk .
yesterday the girl that the robots that saw two kings saw saw the robots .
many small old girls that carry a lamp carry the boxes .
the small queen that carries the boxes paints a red lamp .
an old boy walked to the rivers .
yesterday the enormous robot that the owls saw painted a box and it slept .
the old girls that the robot sees sing .
two boys that the robots that the girls see see ran to two towers .
the robots that the robots that the robot saw saw slept .
today the angry boy that carries an empty lamp finds himself .
yesterday the girls that the boy that carried the lamp found slept quietly .
a boy that finds the robots sees the young robot and he sleeps .
the old robots that two robots that the robot sees found slept .
two robots that the robots that the girl sees found walk to two towers and they sleep quietly .
today the boy that many robots that see themselves see paints a red lamp .
a robot that the robot saw sees the boy and it sleeps .
yesterday a young girl that carried the boxes ran .
yesterday a small owl that two owls that carried a red lamp saw sang near a green river .
today many robots that find many robots see two robots .
yesterday the king walked slowly .
a girl walked to many towers .
a king that the girl that painted an apple saw sees a robot .
yesterday the young robots walked .
yesterday the angry queens that found the owls slept near the garden .
two old robots walked quickly .
yesterday the enormous girls carried the red lamp .
today a boy that many girls that the girls see find carries the empty lamps .
today the old boys that the queens see sleep .
the young robots that many robots behind a tower find sleep .
a robot that carries an empty apple finds the robot .
today two small old girls that many robots that the robots see see walk to the gardens but they sleep .
today a queen behind many islands sings and she finds the queen .
today the enormous angry girls paint the red apple .
yesterday the robot that the robots that many robots found found walked .
the robots with the old lamps ran quickly .
today an old robot that the owls find sings .
the king walks .
today a robot that the queen sees sings quietly .
yesterday a robot saw a girl and it walked .
yesterday the old robots that saw a young owl walked quickly .
today an old robot walks and it sleeps quietly .
yesterday many robots saw the girl and they saw a boy .
yesterday a small girl that saw herself painted two apples and she found a boy .
an angry robot that the queen near the garden saw slept .
an old robot near a tower finds a robot .
many kings that the king behind the ancient river found sang near an old tower and they carried the lamp .
the queen runs .
two robots that the owl saw run to the towers and they paint many red boxes .
today many enormous old girls that the boys find carry the old apple .
many robots that the owl found see the boys .
many girls walk slowly .
today the old queen with a box carries an old lamp but she carries an umbrella .
a girl that the robot that the owl behind the tower found saw runs .
yesterday an old robot carried a red umbrella .
two enormous boys with a box find the girls .
yesterday the robots that saw a robot found many robots .
today the robot sings quietly .
yesterday the girl behind two towers found herself but she walked quickly .
many boys that carry the box slept quietly .
today a robot carries the apples and it sees the robots .
today many robots near the river carry two lamps but they sleep quietly .
yesterday the kings that found an old robot saw themselves and they walked .
yesterday two girls carried the lamps .
yesterday the king that saw the old robot saw himself .
yesterday many girls behind the towers painted the apple .
yesterday the robot that the kings that saw themselves found sang near the river .
yesterday the young robots near a tower sang near many old rivers but they walked to a river .
the kings that see the old owl carry a lamp but they walk .
yesterday the robots painted a lamp .
two old boys that many boys that the robot sees find walk to a tower but they run to a tower .
a boy that paints the red lamps walked but he painted the lamp .
yesterday the girl found herself .
the angry boys see the angry owl and they see many boys .
yesterday a robot behind many rivers ran .
today the robots sing .
yesterday the boy carried many old boxes but he slept .
today the young girl sings .
the old queen behind a river saw a robot .
today the old robot that the robots see walks to a green tower .
today the girls carry two red umbrellas and they walk to the rivers .
two old kings that find the boys walk to the green river .
the small old girls carry the lamps .
today an old king sees two old robots .
two small robots with the apple see two old robots and they find themselves .
two robots near many old rivers walk to the river .
the robot ran slowly .
the young robots that many robots saw carried two lamps .
two boys behind a tower run slowly .
the old king sleeps .
yesterday the robots that the queens behind the ancient rivers found saw many young robots and they carried the lamp .
two robots that saw the robots find a robot and they paint a box .
yesterday a robot that many girls that the king saw saw walked .
two robots that the girls with the old umbrellas saw carried two red lamps .
today a robot behind a tower sees an angry robot .
yesterday a small king with many umbrellas saw the old girls .
yesterday the robot found a robot .
today two robots near many towers sing quietly .
yesterday a robot near a garden found the young boys but it carried a red box .
the owls with many lamps slept .
a robot that many robots that many queens find see paints the red lamp .
an old boy sleeps near an old tower but he sleeps .
the girl that the queen with an umbrella sees slept and she sang quietly .
yesterday two girls behind the old garden found the young robot and they carried two lamps .
an old boy near the towers carried two empty lamps .
a girl with the apples sleeps quietly and she walks to a garden .
many old girls slept near a tower and they sang .
today the young kings find a girl .
yesterday the robot slept quietly but it sang quietly .
yesterday the robots that carried the umbrellas sang near an island and they slept .
yesterday many girls behind the towers sang .
the small old owl near the tower walks to two towers .
many young queens near a river paint a box .
a robot that the owls behind the tower find carries an umbrella .
many robots sleep and they paint two umbrellas .
yesterday the girls found a robot .
the robot that sees the young girls sings .
a robot that saw many young robots finds the young owls and it carries two empty apples .
today an angry robot that the robots that two queens find find walks quickly and it walks .
the girl behind the rivers saw two young robots .
the young robot that two robots near the gardens see saw many girls .
an angry robot with the red apple slept quietly and it slept quietly .
the young girl carries the lamps .
yesterday the old owl that the king near many green towers saw found two robots .
yesterday the old boy carried the umbrella .
today the girls that find the owls see a young robot .
yesterday many old girls slept quietly .
the old girl that saw many angry robots sang .
yesterday the enormous robots saw a king and they walked to the green rivers .
yesterday many young kings that two robots saw carried the old lamp and they walked quickly .
today two young girls find a girl and they sleep quietly .
many robots that paint the red apples carry the lamp .
a girl slept .
today the boy that sees two robots walks quickly and he sleeps near two gardens .
the small owl with a lamp sang near many rivers .
yesterday many enormous boys found the old girl and they found two young robots .
two girls sing quietly .
yesterday the small old owls with a red apple saw a king .
a young owl near the island carries many lamps and it sleeps near an old island .
two old robots that the owl found walked to the old gardens .
the robots that the boys behind the island see see themselves .
two old kings near the green island saw an old robot and they painted the apples .
today the queens that find two girls paint many apples .
many small robots with the box see the queen but they run .
yesterday the queens slept but they found two old robots .
yesterday the robot that the boys saw carried the lamp .
yesterday an old robot that saw the boy slept near the tower .
many young robots that many robots found carried the boxes .
two owls with many apples saw many boys but they saw the robot .
a robot near the old tower finds a boy .
today two old robots with a lamp find a boy and they see the boys .
the owls see two owls .
an angry robot walked slowly .
yesterday a small angry robot painted the lamps .
a young robot that many robots saw sang quietly and it ran .
yesterday an old robot that the girls that the robot saw found ran and it saw a boy .
today a robot with the box sleeps quietly .
yesterday the robot saw a robot but it walked .
an owl carried the apples .
the angry boys that the robots that two robots saw found carried a box .
yesterday an old owl that the boy that saw the girl saw carried the old boxes .
yesterday a young robot that carried many apples walked quickly .
the robots that the girls that painted an old lamp find slept .
many old robots near a tower walked slowly and they walked .
yesterday many angry robots that found an old boy carried two lamps .
yesterday the old girl saw herself .
the angry owls with many red apples saw an owl .
yesterday many robots that the kings found saw a robot .
yesterday a small old owl near a garden saw many boys .
yesterday two girls that the owl that the boys near the green islands found saw found two robots and they walked .
today a robot that the girls with a box see carries the umbrella but it sees an angry boy .
a robot near many gardens walked slowly and it carried two umbrellas .
today the small young kings see a robot .
the old kings near an old garden walk and they see the young robot .
yesterday the young boys carried the old lamp .
the enormous robot behind an old tower sees the robot and it runs to many towers .
today the old girls that carry a red lamp sleep quietly but they sing .
today a small queen with the lamp runs .
the king that finds the old robot sings .
yesterday the king sang .
yesterday an old robot that carried a red lamp saw the girls but it slept quietly .
yesterday the robots slept and they saw themselves .
two robots run quickly .
the boy that two robots see walks to a green tower .
today the boys that many robots see sleep and they see a boy .
yesterday an angry robot behind the towers carried a lamp .
today a young girl near a garden sees the robot .
today an old robot that the robots that see an owl find sings quietly but it runs .
the girl that the queens see carried the lamps .
yesterday a girl walked .
today the young robots see an old robot but they run slowly .
the robot that two robots that two girls saw found saw the robots .
a robot that the boys see saw an owl .
yesterday a robot with a red umbrella sang quietly .
the small kings found themselves and they painted a lamp .
today the small girl walks slowly .
a small old robot walked .
yesterday the angry girls that many boys saw walked .
yesterday an owl that saw a robot saw the young robot .
a girl ran .
the girls behind the ancient towers sing and they paint the lamps .
yesterday a young girl saw many boys .
two boys with the apples walked and they carried many umbrellas .
the small angry girls carry the apples and they paint two red lamps .
yesterday two boys that two robots saw saw themselves .
the robots that painted the red apple sleep quietly and they find the robots .
a robot walks to an old tower .
the young kings see themselves .
two robots that carry the empty boxes walk slowly .
yesterday the old robots behind the old towers ran to many old towers but they found two robots .
yesterday the girl slept .
yesterday an angry girl that the girl that the robots found found saw two old kings .
today a small girl with many lamps walks and she runs to the tower .
today a boy sees the old boy .
yesterday a young owl painted the red boxes but it walked quickly .
yesterday the owl slept and it sang .
the kings paint a lamp and they walk .
a robot that the boys that the king with many apples sees see ran .
yesterday two girls near the tower carried two lamps .
today many enormous robots near the green towers walk to a tower .
yesterday a young queen near the island carried the lamp and she found the girls .
today a robot that the robots that two kings with the box see see sees a young boy but it runs slowly .
a small robot that carried an apple sleeps quietly .
today a boy carries many boxes and he sees the girls .
today the owl that the boy sees walks quickly but it finds a boy .
many old robots find many robots .
the old robot that many robots that the owls with the umbrella found find carries the umbrellas and it runs slowly .
today the robot that many girls that many robots that see two kings find see sleeps and it runs .
today many girls walk but they carry the apples .
today many old robots near the tower walk and they sing quietly .
yesterday a small girl behind two towers ran quickly .
yesterday the queen that the robot that saw a robot saw walked but she slept .
a young girl saw herself and she sang .
the old robots that two boys with a red lamp see see a robot but they sleep .
today a boy that the girls see carries an empty lamp and he sees many angry kings .
today the young owls with an old lamp walk quickly .
the queen near a tower sings quietly .
yesterday the robot that the robots that the girl saw saw sang .
many old robots behind the towers slept and they found two robots .
a robot behind the old garden runs .
the robot that two boys saw carried an umbrella .
an enormous girl sleeps near a tower .
the kings that found the young girl see a king .
yesterday an owl walked to the island .
two old robots that the queens that two owls saw find sleep quietly .
yesterday many enormous robots saw the boy .
the old robots carried a box .
a robot sings .
today many enormous robots that paint the red lamp carry an apple .
yesterday the owls ran .
many small angry queens that the boys see carry the apples .
an enormous king with many lamps saw many young boys .
yesterday an old girl that carried the red lamps saw the robot .
the owls sang .
the small old queen that carried a box paints the apple .
today an old robot near the towers walks to two towers and it sleeps .
the small girls near the old gardens walked .
yesterday a girl slept quietly and she found a robot .
yesterday two small girls walked slowly .
an old girl sings but she carries many red lamps .
a girl finds many girls .
yesterday a young robot that carried a red lamp slept quietly and it ran quickly .
yesterday the angry boy behind two islands ran .
today a boy that the robot that carries the lamp sees sleeps near two old rivers .
yesterday a robot carried a lamp but it painted many lamps .
yesterday a robot that painted the red umbrella painted an apple and it walked to the tower .
today the girls with the apple see themselves .
the robot that the robot saw found the old robot but it saw an owl .
two boys behind the old towers walked .
the owl slept .
the young girl behind two towers carries two lamps .
a boy finds the robot .
today the old robots behind an old tower sleep and they walk to a tower .
yesterday many old girls that painted the red box saw themselves and they sang .
yesterday an angry boy with the old apples painted two lamps .
yesterday an owl that the girl found slept and it walked .
the robots painted the lamp .
two enormous old robots near an island sleep quietly but they see the girls .
yesterday an old owl that many owls that two robots that saw the robots saw saw carried the empty box .
yesterday many robots near the gardens carried many apples but they walked .
yesterday the small old robot painted many lamps .
yesterday a girl that the boy that the robots saw found sang near the tower but she slept .
the enormous old girl that the girls saw sang near an island .
the girls see themselves and they find a robot .
the boys that the robot that the girl sees saw sing .
yesterday an owl near two islands saw a young boy .
a king that sees himself sleeps near the river .
yesterday the robot painted the apple .
an old girl that saw the young girl sees herself .
yesterday a young girl that found the old girls ran .
today the robot sees itself .
two robots carry a box .
an owl with the lamp saw many owls and it saw the robots .
yesterday an old girl slept quietly .
yesterday the robot carried the red boxes .
yesterday an enormous robot sang .
the small old robots behind the green rivers painted the apple and they carried a red box .
yesterday the young girls carried an old lamp .
the old kings behind the green river walk quickly .
a young boy sees the queens but he carries two boxes .
a robot near the island sang .
many boys behind the tower see themselves .
the robots that two queens behind a river saw carried the apple and they found many girls .
the small robot that the boy saw sleeps quietly .
yesterday many robots that the owl that the robots saw found walked but they slept .
today the robot near the rivers walks and it sleeps quietly .
yesterday the small robots that saw an old boy slept .
a queen near the old towers ran and she saw a boy .
today the angry boy sees a robot .
yesterday the boy with two boxes carried a lamp .
the robot that paints an apple sees two boys .
yesterday the angry owl near a tower saw many robots and it slept near the towers .
a girl behind the rivers carried a lamp .
the enormous robots that saw two kings slept and they painted two umbrellas .
an old girl carries the lamps .
the owls that many girls that carried a box found sing quietly .
today many robots with the lamps see a queen .
yesterday the old king carried the old apple and he slept .
a young robot behind an old river finds an owl and it sleeps .
yesterday the robot behind many old towers saw two robots and it carried an apple .
yesterday a king behind the island sang and he ran to a tower .
today an enormous robot that the owl that the girls see finds walks slowly .
yesterday the robot carried the red apple .
today two girls that the boy that the girl sees sees sleep but they run slowly .
the robot sees many boys .
yesterday two small young robots that many robots that the owls that painted a lamp saw saw ran .
yesterday two robots that saw themselves slept and they carried two apples .
today the owls sleep .
the queen that found an old boy sees herself .
the robot with an old umbrella runs quickly .
yesterday two owls with many lamps found a robot but they carried the apples .
a king that the robot that the robot saw finds walked slowly .
the girls that saw the angry boys run slowly .
yesterday the girls that saw themselves slept .
today the enormous girl behind two old towers paints a box .
the young robot near the towers sang quietly and it sang .
the old robot that carried the old lamps sees the girls and it sees the girl .
today many small boys with many apples run to a tower but they paint many apples .
many robots see many robots .
yesterday the owl that many robots behind a green tower found sang .
yesterday the old robot slept .
yesterday the enormous robots ran .
yesterday many robots found the boy .
yesterday the owls slept quietly and they carried two boxes .
an owl that saw the owls sees a young boy .
yesterday the small robots behind the old river walked to the old river .
an owl behind the river walked and it painted many lamps .
today a boy that carries the apples finds many angry girls .
today a queen finds a girl but she finds herself .
yesterday the young kings sang .
yesterday an owl that the queens with many lamps saw walked to the rivers but it carried the boxes .
the owls painted a red lamp .
today the small queen sleeps quietly .
the old boys run quickly but they find themselves .
two old kings see many young girls and they sleep quietly .
the angry robot that painted the boxes sleeps .
today the angry boys sleep near two green rivers .
yesterday a girl that painted the red apple slept quietly and she saw a robot .
yesterday two old robots that the girl that many kings found saw walked quickly .
two robots painted a lamp .
a robot that paints the lamp runs slowly .
the girls saw two young boys .
yesterday two owls near two old towers saw two kings .
the robot slept quietly and it painted a lamp .
a young robot near the tower carried a lamp .
an owl that many owls find painted the red lamps but it found an old robot .
today the robot that the girl sees carries the lamp and it sleeps quietly .
a boy sings but he walks slowly .
an enormous robot that two robots that many robots that carried an apple find see carries a lamp .
an enormous old owl that many robots that see an old owl found walked quickly and it ran .
yesterday the small robots saw the kings .
today the girls that the girl that the boys near the islands see finds paint many lamps .
today the enormous old kings see an old robot .
yesterday the angry robots that two owls behind a tower found saw the robots .
the small young robots walk quickly but they sleep quietly .
today a robot that the queen that sees herself sees carries a red lamp and it walks to the river .
yesterday many old robots walked .
the small old girls with a lamp walk .
many old girls that the girl near an ancient tower sees run and they see the old robot .
yesterday two small old robots sang quietly .
the robot that many robots near the towers find carried two boxes .
yesterday two old robots that the robots saw found the owl .
two kings near a green tower carried many apples but they slept quietly .
the robot found the robots .
yesterday an old owl near a tower slept quietly .
today an old robot that the robot sees sees two robots but it sleeps .
an owl sleeps quietly .
yesterday a robot that the owl saw walked slowly .
an owl walked to a green tower .
yesterday two robots that the owls saw saw an owl and they walked to two islands .
yesterday an enormous young robot behind many rivers saw the old robot .
yesterday many kings carried many lamps .
today a boy that the owls that carry two old apples see carries a red apple and he finds the angry boy .
a queen with the empty apples carries two lamps .
an old robot with the apple walks and it sings near a tower .
a boy that two robots that the king that carries the lamps saw saw finds a robot .
today two girls with two red boxes carry the lamp and they sleep .
yesterday a girl walked to the river .
yesterday the king walked quickly and he saw himself .
yesterday the girl ran to two towers and she saw a young owl .
today the owls that many robots see run .
today the robots walk to many ancient towers .
today a small girl with the red apple carries the old lamp .
a small robot near the ancient river sees the young girl .
two girls behind the tower sleep quietly and they run slowly .
an owl painted the old apples and it slept near the gardens .
yesterday the old owls that saw an angry girl painted an apple .
yesterday an enormous robot that the robots near a green garden saw saw itself and it carried the lamp .
today many boys near a garden sing .
two robots carry the lamps and they sleep near the tower .
today the robot that many queens find walks and it sees a young owl .
yesterday the girl slept quietly .
today the girl that many owls that two boys that carry the red lamp see see finds herself .
yesterday the old girl found a queen .
today a queen that the girls that see many robots see finds a girl and she sleeps quietly .
the old robots walk quickly .
yesterday two kings that the king that two robots behind a tower found saw carried a red box .
many girls that painted the old lamps run .
the girls that many queens saw ran quickly .
yesterday many old kings carried the box .
the robots that the queens see see a young boy and they sleep near a tower .
yesterday an owl carried the lamps and it walked slowly .
the old girl sleeps quietly .
many young robots see the angry robots .
yesterday the angry robots that the kings that the girls saw saw painted the umbrellas and they saw a robot .
today the boys that two boys near an old tower see sing .
the girl with the umbrella walked slowly .
yesterday a girl walked slowly and she slept .
the robot sleeps quietly .
an old boy finds a king .
yesterday the old girl with a lamp ran to the islands .
the young girls near the gardens find themselves .
a girl saw the robots .
yesterday a boy saw the robot .
yesterday many girls that the owls found saw themselves and they carried the lamp .
today the boy that the robot sees finds the angry robots and he walks .
many angry boys paint a lamp .
the small old robot sleeps near a green river .
a king near a tower carries the apple .
today the small young owl sings .
an old robot behind two green islands found the girl and it walked to an old tower .
many girls behind the towers paint two empty lamps and they carry the box .
an old robot sang .
the robots that carry many umbrellas found themselves .
a queen that the queen found slept .
today many robots walk to an island .
the old robots walked .
today the small boy finds the robots but he sings quietly .
the small girl saw herself .
today two kings that the robots that the owls see see carry a lamp .
an angry robot that carries a box sleeps .
an old robot with many red boxes painted a box and it sang .
a girl sings and she sleeps .
today an old robot sees two young girls and it sees the old robot .
today the old boys that carry a lamp sleep quietly .
a queen carries many empty lamps .
the robot that carries the lamp sees a robot and it walks .
today the robot that the robot that the robot finds sees sees a boy .
a robot that carries the red umbrella carries the red apples .
yesterday two robots that two robots with the red lamp found slept quietly and they painted a lamp .
an enormous old robot paints the empty lamps .
yesterday a king that the girl saw walked and he walked to many rivers .
two robots saw a young boy and they carried the umbrellas .
an enormous young robot that carried the old apples sees many old robots .
yesterday the girls that painted a lamp carried the apples .
many old girls that saw two old robots carried the apple .
the small old girls that two kings near two towers saw walked to the towers .
yesterday an old boy that two girls that many owls saw saw saw himself .
today the robots walk quickly .
the robots saw the robot .
yesterday the angry owls that the boys found painted the old apples .
many boys that saw the angry robot sang .
yesterday two robots near an ancient tower slept quietly .
two kings slept quietly .
the queen sings quietly .
many kings near many towers carried a lamp and they slept near the rivers .
the old robots with the apple sing quietly but they see many old queens .
today the kings behind two towers carry the lamp and they see the boy .
the old girl finds herself .
today the king paints an apple .
many robots near the towers slept quietly and they walked to many green rivers .
many old robots that carried an umbrella saw a robot .
the robot ran quickly .
today the robots that two robots find sleep quietly and they sleep .
many angry robots that the queens see walked slowly .
the boys near the garden walked and they slept .
the old boys behind the old tower paint the boxes .
yesterday an old robot found the young robots .
the queen that the robot sees sleeps quietly .
yesterday a young owl with a box found the girls .
today a robot walks to the towers .
yesterday two robots that the girls saw sang .
today a young girl that the kings that the kings with the red lamp see find walks .
many young robots sleep quietly .
an angry girl that the boys that the robot saw saw sang .
the angry robot with the red lamps walked .
the enormous boy carried the empty umbrellas .
today the boys carry a lamp and they run quickly .
the angry girl carried two lamps and she slept .
an enormous robot that the robot near an old tower finds walked .
yesterday the young boy that saw a king walked slowly and he carried the empty lamp .
the old king with two old boxes sleeps quietly .
an angry boy that the boys found carried two umbrellas and he ran slowly .
today the small young girls paint many lamps .
the robots near the towers painted the red lamp .
today an angry robot with the apples paints a lamp and it walks to many green towers .
today an old robot behind a river sees many old girls .
the robots that the girls that the queen saw see walked slowly .
yesterday the old queens walked to an island .
today the small boy near a green tower sleeps .
the robot walked .
an old robot walks slowly .
yesterday the kings walked to the towers .
yesterday the angry robots that the boy that the owl near the old rivers found found found many old queens .
today an old king finds the girl and he sleeps .
a young king that two robots saw carries two apples .
today the enormous queen that two boys that the owls with the empty lamp find find finds the boys .
today the angry king that two robots find paints many umbrellas and he sleeps quietly .
yesterday the robots saw themselves but they slept quietly .
yesterday the small boy carried the apple .
the old boy sleeps quietly .
the small robots walk but they find two old robots .
yesterday a young boy that the owl saw painted the apples .
yesterday the small young girl that the robot that the robots saw saw walked to the river .
the girls with the apple run to many gardens .
yesterday many old girls that found the girl saw themselves .
today the small king sings but he sleeps quietly .
yesterday a young girl near the islands slept .
the girls that many girls that carry an old box find sleep .
yesterday a robot that the robot near a tower saw ran to a river and it walked to the old gardens .
yesterday many old queens that carried the old lamps sang .
yesterday many robots with the lamp carried an old apple but they slept quietly .
yesterday many kings near the rivers sang near a green tower and they slept quietly .
a girl that carried a red umbrella walks and she sees an angry boy .
the robot that finds the boy found itself .
the robot found the boys .
the old robot that saw itself sees a girl .
today a girl that paints the lamps sees an owl and she sees the robots .
the small boy that found an angry robot runs and he walks .
yesterday a small young boy behind many towers slept .
a small king painted an empty lamp .
today the owl sings near the old gardens .
an old robot that sees itself slept near the river .
the robot that the boys that many boys saw find sings quietly and it sees the robot .
yesterday many robots behind the old rivers slept .
today many boys sing quietly .
today the enormous robots behind the river paint two apples .
the robots walk .
yesterday an old boy that the robot that the owl that saw a boy saw saw sang near the old island and he saw himself .
yesterday the small robots that found the robots painted a red apple .
today two old girls behind an old tower see an owl but they paint a lamp .
yesterday the robot near an island saw the angry girls and it ran quickly .
today the owl that sees the girls carries the old umbrellas and it runs slowly .
yesterday the robots ran slowly .
yesterday a boy that saw many old girls slept but he walked quickly .
the small old queen walked .
the robots with two apples slept quietly .
yesterday the girls near many old towers slept .
today a young girl with the lamps carries the empty lamp .
today many old girls that carry an apple run .
today a robot behind the islands paints an old lamp and it carries the box .
two kings walked .
yesterday many boys that the robots that the robot near many ancient gardens found saw walked slowly but they slept .
yesterday the robot sang quietly .
two girls that the girls behind the towers saw saw the old boys and they carried many umbrellas .
a boy that the robots that paint many umbrellas see slept quietly .
many small old boys that see many angry girls paint the old boxes .
a robot with an umbrella slept quietly .
yesterday an old robot painted a lamp .
yesterday the boys that saw two robots walked quickly and they slept .
yesterday the enormous angry king with the box sang quietly but he found the owl .
the robot that two robots behind the green towers found carried a lamp .
yesterday the angry girl sang and she saw the boy .
today a robot that the girls find carries many red lamps and it finds many girls .
many girls that the robot saw walk .
yesterday the enormous young girl that many girls that the robot saw saw carried the red boxes and she found herself .
yesterday the owls near a river slept .
the robot behind many ancient rivers carries a lamp .
a girl with many apples found herself .
an angry king carried many apples .
many old robots with the lamps carry a box .
today the robots that see an old robot sleep quietly .
the girl with the lamps runs and she carries an apple .
today the robots that the queen that the girl sees sees run to a garden .
a girl that the queens saw finds two young kings .
today a robot with the lamps walks slowly .
today the angry girl near a tower sleeps .
today a robot sings .
today two girls behind a tower carry the apples but they carry the box .
yesterday a girl that two girls with an apple saw ran to a river and she walked .
many young robots carry a lamp .
the robot that the owls that painted an umbrella found carries a lamp .
an old queen that carried the umbrella slept quietly and she saw the owl .
the robots that the boy that found two kings finds find the robots .
a boy that the robot saw walked slowly and he carried the red lamp .
today the young boy with an apple paints a lamp .
yesterday two robots behind a green island carried many boxes but they slept .
the robot slept near the towers but it sang quietly .
yesterday a small robot behind a green tower sang .
yesterday two robots that found an old girl saw themselves .
a robot that the robots found carries a lamp but it finds the robots .
many kings near many towers carry two lamps .
the old robot near the old islands carried the old umbrellas and it slept quietly .
two robots with many apples walked quickly .
today an old robot that sees the old boy sings near a tower .
yesterday the old boys with a lamp painted the boxes .
the enormous robots with two apples carry an empty lamp but they paint an old lamp .
a queen that the girl near an island finds sees the queens .
an old girl carried a lamp .
yesterday an angry boy near many ancient islands saw the robots .
the girl behind many rivers saw an angry boy .
yesterday many young robots that two girls that many robots that saw a robot found found painted an umbrella and they carried the lamps .
an old robot slept .
today a robot that the robot that the boy near the tower finds sees sees many boys .
many robots see themselves but they see themselves .
today many robots that see the old boys carry many lamps .
today a girl that many girls see sleeps quietly .
an owl carried the boxes .
the robot carries many boxes .`,
};
